// SPDX-License-Identifier: BSD-3-Clause
// Measures the rates of the CPU device's parts, each with the rate that the machine allows.
// `--smoke` runs tiny sizes once, only to see that everything runs. `--threads N` sets the number
// of threads, by default that of all cores.
#include <cblas.h>
#include <omp.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <speedwell/error.hpp>

#include "core/numbers.hpp"
#include "device/device.hpp"
#include "floors.hpp"
#include "harness.hpp"
#include "host/processor.hpp"
#include "host/thread_scope.hpp"
#include "matrix/distributed_matrix.hpp"

namespace speedwell {

namespace {

struct Sizes {
  std::int64_t n;                    // order of the matrix of generator, solves and residual
  std::int64_t update;               // rows and columns of the updated part
  std::int64_t block;                // columns of a step of the solves
  std::int64_t user;                 // order of a user's matrix in FP64
  std::vector<std::int64_t> depths;  // K of the update
};
const Sizes full{12288, 6144, 512, 8192, {512, 1024}};
const Sizes tiny{200, 96, 32, 150, {32, 48}};

class Bench {
 public:
  Bench(int threads, bool smoke)
      : smoke_(smoke),
        sizes_(smoke ? tiny : full),
        device_(make_device({.threads = threads})),
        queue_(device_->make_queue(Priority::normal)),
        whole_(sizes_.n, sizes_.block, 1, 0),
        matrix_(*device_, whole_, whole_),
        floors_(measure_floors(matrix_.local().as<float>(), smoke)) {}

  void run() {
    std::printf("%s\n", device_->description().c_str());
    std::printf("n = %lld; memory: %.1f GB/s read, %.1f written, %.1f copied%s\n\n",
                static_cast<long long>(sizes_.n), floors_.read / 1e9, floors_.write / 1e9,
                floors_.copy / 1e9, smoke_ ? "; a trial run, too small to tell rates" : "");
    Table::header();
    generator();
    residual();
    cast();
    for (std::int64_t depth : sizes_.depths) update(depth);
    for (std::int64_t depth : sizes_.depths) panel(depth);
    solves();
    user_matrix();
  }

 private:
  template <class Work>
  double time(Work work) const {
    return best_seconds(smoke_, work);
  }
  AnyMatrix low(Precision precision, const Buffer& memory, std::int64_t rows,
                std::int64_t columns) const {
    return {precision, memory.data(), rows, columns, rows};
  }
  Buffer floats(std::int64_t count) const { return device_->allocate(count * 4); }
  Buffer doubles(std::int64_t count) const { return device_->allocate(count * 8); }

  MatrixSpec spec(MatrixKind kind) const;
  void fill(MatrixSpec spec) const;
  double sgemm_rate(std::int64_t rows, std::int64_t columns, std::int64_t depth) const;
  void generator();
  void residual();
  void cast();
  void update(std::int64_t depth);
  void panel(std::int64_t width);
  void solves();
  void solve_blocks(MatrixView<double> x, bool forward);
  void substitute(MatrixView<double> x, bool forward);
  void user_matrix();

  bool smoke_;
  Sizes sizes_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Queue> queue_;
  Distribution whole_;
  DistributedMatrix matrix_;
  Floors floors_;
};

/// A random matrix, or with fasi_higham one with entries of about 1/n and a unit diagonal, with
/// which the results of repeated solves neither grow nor decay.
MatrixSpec Bench::spec(MatrixKind kind) const {
  MatrixSpec spec;
  spec.kind = kind;
  spec.n = sizes_.n;
  spec.stride = sizes_.n | 1;
  spec.alpha = spec.beta = 1 / static_cast<double>(sizes_.n);
  return spec;
}

void Bench::fill(MatrixSpec spec) const {
  device_->generate(*queue_, spec, whole_, whole_, matrix_.local());
  queue_->synchronize();
}

void Bench::generator() {
  const auto count = static_cast<double>(sizes_.n) * static_cast<double>(sizes_.n);
  Table::row("generate, random", time([&] { fill(spec(MatrixKind::scaled_diagonal)); }), count,
             gigaelements, floors_.write / 4);
  Table::row("generate, fasi-higham", time([&] { fill(spec(MatrixKind::fasi_higham)); }), count,
             gigaelements, floors_.write / 4);
}

void Bench::residual() {
  const auto count = static_cast<double>(sizes_.n) * static_cast<double>(sizes_.n);
  const std::vector<double> ones(static_cast<std::size_t>(sizes_.n), 1.0);
  const Buffer x = doubles(sizes_.n);
  const Buffer sums = doubles(3 * sizes_.n);
  device_->upload(*queue_, ones, x.as<double>());
  double* ax = sums.as<double>();
  const auto run = [&](double* abs_rows, double* abs_ax) {
    return time([&] {
      device_->multiply_generated(*queue_, spec(MatrixKind::scaled_diagonal), whole_, whole_,
                                  x.as<double>(), ax, abs_rows, abs_ax);
      queue_->synchronize();
    });
  };
  double* abs_rows = ax + sizes_.n;
  Table::row("A x", run(nullptr, nullptr), count, gigaelements, 0);
  Table::row("A x, ||A||", run(abs_rows, nullptr), count, gigaelements, 0);
  Table::row("A x, ||A||, |A| |x|", run(abs_rows, abs_rows + sizes_.n), count, gigaelements, 0);
}

void Bench::cast() {
  fill(spec(MatrixKind::fasi_higham));
  const std::int64_t width = sizes_.depths.back();
  const auto from = matrix_.local().block(0, 0, sizes_.n, width);
  const Buffer to = floats(sizes_.n * width);
  PanelControl control;
  FactorStatus status;
  for (Precision precision :
       {Precision::fp16, Precision::bf16, Precision::fp16x3, Precision::fp32}) {
    const double seconds = time([&] {
      device_->cast(*queue_, from, -1, low(precision, to, sizes_.n, width), &control, &status);
      queue_->synchronize();
    });
    const auto bytes = static_cast<double>(sizes_.n * width * (4 + bytes_of(precision)));
    Table::row("cast " + std::string(name(precision)), seconds, bytes, gigabytes, floors_.copy);
  }
}

double Bench::sgemm_rate(std::int64_t rows, std::int64_t columns, std::int64_t depth) const {
  const auto source = matrix_.local().as<float>();
  const Buffer c = floats(rows * columns);
  const int m = static_cast<int>(rows);
  const int n = static_cast<int>(columns);
  const int k = static_cast<int>(depth);
  const int ld = static_cast<int>(source.ld);
  const double seconds = time([&] {
    cblas_sgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, m, n, k, -1, source.data, ld,
                source.data, ld, 1, c.as<float>(), m);
  });
  return 2.0 * m * n * k / seconds;
}

void Bench::update(std::int64_t depth) {
  fill(spec(MatrixKind::fasi_higham));
  const std::int64_t m = sizes_.update;
  const Buffer left = floats(m * depth);
  const Buffer right = floats(m * depth);
  const Buffer target = floats(m * m);
  const double flops = 2.0 * static_cast<double>(m) * static_cast<double>(m * depth);
  const double floor = sgemm_rate(m, m, depth);
  const auto k = ", K = " + std::to_string(depth);
  for (Precision precision :
       {Precision::fp16, Precision::bf16, Precision::fp16x3, Precision::fp32}) {
    PanelControl l_control;
    PanelControl u_control;
    FactorStatus status;
    const AnyMatrix l = low(precision, left, m, depth);
    const AnyMatrix u = low(precision, right, depth, m);
    device_->cast(*queue_, matrix_.local().block(0, 0, m, depth), 1, l, &l_control, &status);
    device_->cast(*queue_, matrix_.local().block(0, 0, depth, m), -1, u, &u_control, &status);
    const double seconds = time([&] {
      device_->update(*queue_, l, &l_control, u, &u_control,
                      MatrixView<float>{target.as<float>(), m, m, m}, {});
      queue_->synchronize();
    });
    std::string part = "update ";
    part.append(name(precision)).append(device_->native(precision) ? "" : " (emulated)").append(k);
    Table::row(part, seconds, flops, gigaflops, floor);
  }
}

/// The panel is restored before each run. The time of that copy is included, since it is short.
void Bench::panel(std::int64_t width) {
  fill(spec(MatrixKind::fasi_higham));
  const std::int64_t m = sizes_.update;
  const auto w = static_cast<double>(width);
  const double floor = sgemm_rate(m, width, width);
  const Buffer block = floats(width * width);
  const Buffer long_panel = floats(m * width);
  const MatrixView<float> diagonal{block.as<float>(), width, width, width};
  const auto all = matrix_.local();
  const auto k = ", nb = " + std::to_string(width);
  FactorStatus status;
  const auto measure = [&](const std::string& part, double flops, auto work) {
    const double seconds = time([&] {
      work();
      queue_->synchronize();
    });
    Table::row(part + k, seconds, flops, gigaflops, floor);
  };
  measure("factor diagonal block", 2.0 / 3 * w * w * w, [&] {
    device_->copy(*queue_, all.block(0, 0, width, width), diagonal);
    device_->factor_diagonal(*queue_, diagonal, 0, &status);
  });
  const double flops = static_cast<double>(m) * w * w;
  for (const Precision purpose : {Precision::fp32, Precision::fp16, Precision::bf16}) {
    const std::string note = purpose == Precision::fp32 ? "" : " for " + std::string(name(purpose));
    measure("A U^-1" + note, flops, [&] {
      const MatrixView<float> column{long_panel.as<float>(), m, width, m};
      device_->copy(*queue_, all.block(0, 0, m, width), column);
      device_->solve_right_upper(*queue_, diagonal, column, purpose, {});
    });
    measure("L^-1 A" + note, flops, [&] {
      const MatrixView<float> row{long_panel.as<float>(), width, m, width};
      device_->copy(*queue_, all.block(0, 0, width, m), row);
      device_->solve_left_lower(*queue_, diagonal, row, purpose, {});
    });
  }
}

/// The solves with the diagonal blocks in a substitution.
void Bench::solve_blocks(MatrixView<double> x, bool forward) {
  const auto a = matrix_.local();
  for (std::int64_t begin = 0; begin < sizes_.n; begin += sizes_.block) {
    const std::int64_t width = std::min(sizes_.block, sizes_.n - begin);
    const auto block = a.block(begin, begin, width, width);
    if (forward)
      device_->solve_lower(*queue_, Transpose::no, block, x.block(begin, 0, block.rows, x.columns));
    else
      device_->solve_upper(*queue_, Transpose::no, block, x.block(begin, 0, block.rows, x.columns));
  }
  queue_->synchronize();
}

/// x <- L^-1 x or U^-1 x. After each block is solved, its product is subtracted from all rows that
/// are not solved yet.
void Bench::substitute(MatrixView<double> x, bool forward) {
  const auto a = matrix_.local();
  const std::int64_t blocks = ceil_div(sizes_.n, sizes_.block);
  for (std::int64_t k = 0; k < blocks; ++k) {
    const std::int64_t begin = (forward ? k : blocks - 1 - k) * sizes_.block;
    const std::int64_t end = std::min(begin + sizes_.block, sizes_.n);
    const auto block = a.block(begin, begin, end - begin, end - begin);
    if (forward) {
      device_->solve_lower(*queue_, Transpose::no, block, x.block(begin, 0, block.rows, x.columns));
      device_->subtract_product(
          *queue_, Transpose::no, a.block(end, begin, sizes_.n - end, end - begin),
          x.block(begin, 0, end - begin, x.columns), x.block(end, 0, sizes_.n - end, x.columns));
    } else {
      device_->solve_upper(*queue_, Transpose::no, block, x.block(begin, 0, block.rows, x.columns));
      device_->subtract_product(*queue_, Transpose::no, a.block(0, begin, begin, end - begin),
                                x.block(begin, 0, end - begin, x.columns),
                                x.block(0, 0, begin, x.columns));
    }
  }
  queue_->synchronize();
}

void Bench::solves() {
  fill(spec(MatrixKind::fasi_higham));
  const std::int64_t n = sizes_.n;
  const auto order = static_cast<double>(n);
  const std::vector<double> ones(static_cast<std::size_t>(n), 1.0);
  const Buffer x = doubles(n);
  const Buffer y = doubles(n);
  const auto view = [n](const Buffer& memory) {
    return MatrixView<double>{memory.as<double>(), n, 1, n};
  };
  const auto measure = [&](const char* part, double elements, auto work) {
    const double seconds = time([&] {
      device_->upload(*queue_, ones, x.as<double>());
      work();
    });
    Table::row(part, seconds, 4 * elements, gigabytes, floors_.read);
  };
  const double blocks = order * static_cast<double>(sizes_.block) / 2;
  measure("solve, diagonal blocks of L", blocks, [&] { solve_blocks(view(x), true); });
  measure("solve, diagonal blocks of U", blocks, [&] { solve_blocks(view(x), false); });
  measure("y - A x, A stored", order * order, [&] {
    device_->subtract_product(*queue_, Transpose::no, matrix_.local(), view(x), view(y));
    queue_->synchronize();
  });
  measure("y - A^T x, A stored", order * order, [&] {
    device_->subtract_product(*queue_, Transpose::yes, matrix_.local(), view(x), view(y));
    queue_->synchronize();
  });
  measure("L^-1 x", order * order / 2, [&] { substitute(view(x), true); });
  measure("U^-1 x", order * order / 2, [&] { substitute(view(x), false); });
}

void Bench::user_matrix() {
  const std::int64_t n = sizes_.user;
  const Distribution whole(n, sizes_.block, 1, 0);
  const DistributedMatrix a(*device_, whole, whole, Precision::fp64);
  const DistributedMatrix to_fp32(*device_, whole, whole, Precision::fp32);
  const DistributedMatrix to_fp64(*device_, whole, whole, Precision::fp64);
  MatrixSpec values = spec(MatrixKind::fasi_higham);
  values.n = n;
  device_->generate(*queue_, values, whole, whole, a.local());
  const std::vector<double> ones(static_cast<std::size_t>(n), 1.0);
  const Buffer vectors = doubles(4 * n);
  double* x = vectors.as<double>();
  double* sums = x + n;
  const Buffer bits = doubles(n + 2);
  auto* const checksums = bits.as<std::uint64_t>();
  device_->upload(*queue_, ones, x);
  const auto measure = [&](const char* part, std::int64_t bytes, double floor, auto work) {
    const double seconds = time([&] {
      work();
      queue_->synchronize();
    });
    Table::row(part, seconds, static_cast<double>(n * n * bytes), gigabytes, floor);
  };
  const ConstAnyMatrix from = a.local();
  for (const Transpose transpose : {Transpose::no, Transpose::yes}) {
    const auto multiply = [&](double* abs_rows, double* abs_ax, MatrixChecksum* checksum) {
      const auto vector = [n](double* v) { return MatrixView<double>{v, v ? n : 0, 1, n}; };
      device_->multiply(*queue_, transpose, from, vector(x), vector(sums), abs_rows, vector(abs_ax),
                        checksum);
    };
    const std::string name = transpose == Transpose::no ? "FP64: A x" : "FP64: A^T x";
    const auto row = [&](const char* sums_too, double* abs_rows, double* abs_ax,
                         MatrixChecksum* checksum = nullptr) {
      measure((name + sums_too).c_str(), 8, floors_.read,
              [&] { multiply(abs_rows, abs_ax, checksum); });
    };
    row("", nullptr, nullptr);
    row(", ||A||", sums + n, nullptr);
    row(", |A| |x|", nullptr, sums + n);
    row(", |A| |x|, checksum", nullptr, sums + n, bits.as<MatrixChecksum>());
    row(", ||A||, |A| |x|", sums + n, sums + 2 * n);
  }
  for (double* scale : {static_cast<double*>(nullptr), x}) {
    measure(scale ? "largest of scaled rows" : "largest of rows", 8, floors_.read,
            [&] { device_->largest_of_rows(*queue_, from, scale, sums, nullptr); });
    measure(scale ? "largest of scaled columns" : "largest of columns", 8, floors_.read,
            [&] { device_->largest_of_columns(*queue_, from, scale, sums, nullptr); });
  }
  measure("largest of rows, checksums", 8, floors_.read,
          [&] { device_->largest_of_rows(*queue_, from, nullptr, sums, checksums); });
  measure("largest of columns, checksums", 8, floors_.read,
          [&] { device_->largest_of_columns(*queue_, from, nullptr, sums, checksums); });
  measure("scale to FP32", 12, floors_.copy,
          [&] { device_->scale(*queue_, from, x, x, to_fp32.local()); });
  measure("scale to FP64", 16, floors_.copy,
          [&] { device_->scale(*queue_, from, x, x, to_fp64.local()); });
  measure("copy", 16, floors_.copy, [&] { device_->copy(*queue_, from, to_fp64.local()); });
}

}  // namespace

}  // namespace speedwell

int main(int argc, char** argv) {
  bool smoke = false;
  int threads = omp_get_max_threads();
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--smoke") {
      smoke = true;
    } else if (argument == "--threads" && i + 1 < argc && std::atoi(argv[i + 1]) > 0) {
      threads = std::atoi(argv[++i]);
    } else {
      std::fprintf(stderr, "usage: speedwell_parts_bench [--smoke] [--threads N]\n");
      return 2;
    }
  }
  try {
    const speedwell::ThreadScope scope(threads);
    speedwell::Bench(threads, smoke).run();
  } catch (const std::exception& e) {
    std::fprintf(stderr, "speedwell_parts_bench: %s\n", e.what());
    return 3;
  }
  return 0;
}
