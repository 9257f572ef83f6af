// What a GPU can do at most, in the shapes that HPL-MxP uses, and what Lupine's parts reach of it:
//   lupine_gpu_ceilings [--seconds S] [--json] [--smoke]
// Each product runs for S seconds (default 10), since a GPU is slower once it is hot. With --json
// a JSON object a line, as soon as it is measured.
#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <lupine/error.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.hpp"
#include "device/cuda/check.hpp"
#include "device/cuda/lane.hpp"
#include "device/cuda/products.hpp"
#include "device/device.hpp"
#include "kernels.hpp"

namespace lupine {

namespace {

using nlohmann::ordered_json;

struct Sizes {
  std::int64_t buffer;               // bytes read or copied
  std::int64_t update;               // rows and columns of what the 16-bit products update
  std::vector<std::int64_t> depths;  // their K
  std::int64_t wide;                 // rows and columns of the FP64, FP32 and TF32 products
  std::vector<std::int64_t> fp64_depths;
  std::int64_t generated;  // order of the matrix that is never stored
  std::int64_t tall;       // rows of a panel
  std::int64_t solved;     // rows or columns of what is solved for
  std::int64_t block;      // columns of a panel
};
const Sizes full{std::int64_t{4} << 30,
                 32768,
                 {1024, 2048, 4096},
                 16384,
                 {512, 1024},
                 100000,
                 262144,
                 60000,
                 2048};
const Sizes tiny{1 << 16, 96, {32, 48}, 64, {16, 32}, 300, 400, 200, 64};

constexpr double tera = 1e12;
constexpr double giga = 1e9;
constexpr double batch_seconds = 0.25;

struct Options {
  double seconds = 10;
  bool json = false;
  bool smoke = false;
};

/// Of one operation that ran again and again.
struct Timing {
  double mean = 0;   ///< over the whole interval, seconds
  double best = 0;   ///< over the best quarter of a second
  double total = 0;  ///< the interval
  std::int64_t runs = 0;
};

class Ceilings {
 public:
  explicit Ceilings(const Options& options)
      : o_(options),
        sizes_(options.smoke ? tiny : full),
        device_(make_device({.kind = DeviceKind::cuda})),
        queue_(device_->make_queue(Priority::normal)),
        lane_(Priority::normal),
        control_(device_->allocate(1024)) {
    fit();
    check(cudaMemsetAsync(control_.data(), 0, 1024, lane_.stream()), "cudaMemsetAsync");
    check(cudaStreamSynchronize(lane_.stream()), "cudaStreamSynchronize");
  }

  void run() {
    emit({{"part", "device"}, {"name", device_->description()}});
    bandwidth();
    for (const Precision precision : {Precision::fp16, Precision::bf16})
      for (const std::int64_t depth : sizes_.depths) update(precision, depth);
    for (const std::int64_t depth : sizes_.fp64_depths) fp64(depth);
    product("tf32", Reading::tf32, tf32_);
    product("fp32", Reading::fp32, fp32_);
    generators();
    vectors();
    panel();
  }

 private:
  void fit();
  void bandwidth();
  void update(Precision precision, std::int64_t depth);
  void fp64(std::int64_t depth);
  void product(const std::string& name, Reading reading, double& reached);
  void generators();
  void multiply(bool all_sums);
  void vectors();
  void panel();
  void solves(MatrixView<float> block, MatrixView<float> column);

  MatrixSpec spec(std::int64_t n) const;
  void fill(MatrixView<float> a);
  Timing sustain(double seconds, const std::function<void()>& work);
  double brief() const { return std::min(1.0, o_.seconds / 10); }
  void synchronize() {
    queue_->synchronize();
    check(cudaStreamSynchronize(lane_.stream()), "cudaStreamSynchronize");
  }
  void emit(const ordered_json& line) const;
  void rate(ordered_json line, const Timing& timing, double work, double unit,
            const std::string& unit_name, double floor);

  PanelHeader* header(int which) const {
    return reinterpret_cast<PanelHeader*>(control_.data() + 64 * which);
  }
  FactorStatus* status() const { return reinterpret_cast<FactorStatus*>(control_.data() + 256); }

  Options o_;
  Sizes sizes_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Queue> queue_;
  Lane lane_;  // for what Device does not offer
  Buffer control_;
  Products products_;
  double copy_ = 0;  // bytes a second
  double read_ = 0;
  double tf32_ = 0;  // operations a second
  double fp32_ = 0;
};

/// The shapes are those of large memories; a smaller GPU gets smaller ones.
void Ceilings::fit() {
  const auto free = static_cast<double>(device_->memory()->free);
  if (free < 4096e6 && !o_.smoke) throw Fault("less than 4 GB of the GPU's memory is free");
  for (; !o_.smoke && 3.5 * static_cast<double>(sizes_.buffer) > free; sizes_.buffer /= 2)
    for (std::int64_t* size : {&sizes_.update, &sizes_.wide, &sizes_.tall, &sizes_.solved})
      *size = *size * 3 / 4 / 64 * 64;
}

MatrixSpec Ceilings::spec(std::int64_t n) const {
  MatrixSpec spec;
  spec.n = n;
  spec.stride = n | 1;
  spec.shift = std::sqrt(static_cast<double>(n));
  return spec;
}

/// Random numbers: zeros take less power, and so run faster than any matrix will.
void Ceilings::fill(MatrixView<float> a) {
  device_->generate(*queue_, spec(std::max(a.rows, a.cols)), Distribution(a.rows, a.rows, 1, 0),
                    Distribution(a.cols, a.cols, 1, 0), a);
  queue_->synchronize();
}

/// A quarter of a second is given at once, so that waiting for its end costs nothing.
Timing Ceilings::sustain(double seconds, const std::function<void()>& work) {
  const SteadyClock clock;
  work();
  synchronize();
  double begin = clock.now();
  work();
  synchronize();
  const double once = std::max(clock.now() - begin, 1e-7);
  const auto batch =
      static_cast<std::int64_t>(std::clamp(std::min(batch_seconds, seconds) / once, 1.0, 10000.0));
  Timing timing;
  begin = clock.now();
  while (timing.total < seconds || timing.runs == 0) {
    const double start = clock.now();
    for (std::int64_t i = 0; i < batch; ++i) work();
    synchronize();
    const double each = (clock.now() - start) / static_cast<double>(batch);
    timing.best = timing.runs == 0 ? each : std::min(timing.best, each);
    timing.runs += batch;
    timing.total = clock.now() - begin;
  }
  timing.mean = timing.total / static_cast<double>(timing.runs);
  return timing;
}

void Ceilings::emit(const ordered_json& line) const {
  if (o_.json) {
    fmt::print("{}\n", line.dump());
  } else {
    fmt::print("{:<42}", line["name"].get<std::string>());
    if (line.contains("rate")) {
      fmt::print(" {:10.2f} {:<10} best {:10.2f}", line["rate"].get<double>(),
                 line["unit"].get<std::string>(), line["best_quarter_second"].get<double>());
      if (line["share"].is_number())
        fmt::print(" {:5.0f} % of {:.2f}", 100 * line["share"].get<double>(),
                   line["floor_rate"].get<double>());
    }
    fmt::print("\n");
  }
  std::fflush(stdout);
}

/// `work` of one run, in `unit`s a second beside what the GPU allows (0: unknown).
void Ceilings::rate(ordered_json line, const Timing& timing, double work, double unit,
                    const std::string& unit_name, double floor) {
  line["rate"] = work / timing.mean / unit;
  line["unit"] = unit_name;
  line["best_quarter_second"] = work / timing.best / unit;
  line["milliseconds"] = timing.mean * 1e3;
  line["seconds"] = timing.total;
  line["runs"] = timing.runs;
  line["floor_rate"] = floor > 0 ? ordered_json(floor / unit) : ordered_json();
  line["floor_milliseconds"] = floor > 0 ? ordered_json(work / floor * 1e3) : ordered_json();
  line["share"] = floor > 0 ? ordered_json(work / timing.mean / floor) : ordered_json();
  emit(line);
}

void Ceilings::bandwidth() {
  const std::int64_t bytes = sizes_.buffer;
  const Buffer from = device_->allocate(bytes);
  const Buffer to = device_->allocate(bytes);
  const std::int64_t column = std::min<std::int64_t>(bytes / 4, 1 << 14);
  fill({from.as<float>(), column, bytes / 4 / column, column});
  const Timing copied = sustain(brief(), [&] {
    check(cudaMemcpyAsync(to.data(), from.data(), static_cast<std::size_t>(bytes),
                          cudaMemcpyDeviceToDevice, lane_.stream()),
          "cudaMemcpyAsync");
  });
  const auto size = static_cast<double>(bytes);
  copy_ = 2 * size / copied.mean;
  rate({{"part", "copy"}, {"name", "copy, bytes read and written"}}, copied, 2 * size, giga, "GB/s",
       0);
  constexpr int multiprocessors = 128;  // about those of any large GPU: enough loads for each
  const Timing read = sustain(brief(), [&] {
    check(cuda::read_all(lane_.stream(), from.data(), bytes, o_.smoke ? 1 : multiprocessors * 2,
                         reinterpret_cast<float*>(control_.data() + 512)),
          "read_all");
  });
  read_ = size / read.mean;
  rate({{"part", "read"}, {"name", "read"}}, read, size, giga, "GB/s", 0);
}

/// The solver's own path: cast panels, C += L U through Device::update, no multiprocessor reserved.
void Ceilings::update(Precision precision, std::int64_t depth) {
  const std::int64_t m = sizes_.update;
  const Buffer c_memory = device_->allocate(m * m * 4);
  const Buffer l_memory = device_->allocate(m * depth * 2);
  const Buffer u_memory = device_->allocate(m * depth * 2);
  const AnyMatrix l{precision, l_memory.data(), m, depth, m};
  const AnyMatrix u{precision, u_memory.data(), depth, m, depth};
  const auto cast = [&](std::int64_t rows, std::int64_t cols, double sign, AnyMatrix to, int at) {
    fill({c_memory.as<float>(), rows, cols, rows});
    device_->cast(*queue_, {c_memory.as<float>(), rows, cols, rows}, sign, to, header(at),
                  status());
    queue_->synchronize();
  };
  cast(m, depth, 1, l, 0);
  cast(depth, m, -1, u, 1);
  const MatrixView<float> c{c_memory.as<float>(), m, m, m};
  fill(c);
  const Timing timing =
      sustain(o_.seconds, [&] { device_->update(*queue_, l, header(0), u, header(1), c, {}); });
  const std::string type(name(precision));
  rate({{"part", "product"},
        {"name", fmt::format("update {}, {} x {}, K = {}", type, m, m, depth)},
        {"precision", type},
        {"m", m},
        {"n", m},
        {"k", depth}},
       timing, 2 * static_cast<double>(m) * static_cast<double>(m * depth), tera, "TFLOP/s", 0);
}

void Ceilings::fp64(std::int64_t depth) {
  const std::int64_t m = sizes_.wide;
  const Buffer a = device_->allocate(m * depth * 8);
  const Buffer b = device_->allocate(m * depth * 8);
  const Buffer c = device_->allocate(m * m * 8);
  const auto random = [&](const Buffer& memory, std::int64_t rows, std::int64_t cols) {
    check(cuda::generate_fp64(lane_.stream(), spec(m), {memory.as<double>(), rows, cols, rows}),
          "generate_fp64");
  };
  random(a, m, depth);
  random(b, depth, m);
  random(c, m, m);
  constexpr double minus = -1;
  constexpr double one = 1;
  const Timing timing = sustain(o_.seconds, [&] {
    check(cublasDgemm_64(lane_.blas(), CUBLAS_OP_N, CUBLAS_OP_N, m, m, depth, &minus,
                         a.as<double>(), m, b.as<double>(), depth, &one, c.as<double>(), m),
          "cublasDgemm_64");
  });
  rate({{"part", "product"},
        {"name", fmt::format("product fp64, {} x {}, K = {}", m, m, depth)},
        {"precision", "fp64"},
        {"m", m},
        {"n", m},
        {"k", depth}},
       timing, 2 * static_cast<double>(m) * static_cast<double>(m * depth), tera, "TFLOP/s", 0);
}

void Ceilings::product(const std::string& name, Reading reading, double& reached) {
  const std::int64_t m = sizes_.wide;
  const std::int64_t depth = sizes_.depths[0];
  const Buffer a = device_->allocate(m * depth * 4);
  const Buffer b = device_->allocate(m * depth * 4);
  const Buffer c = device_->allocate(m * m * 4);
  fill({a.as<float>(), m, depth, m});
  fill({b.as<float>(), depth, m, depth});
  fill({c.as<float>(), m, m, m});
  const Timing timing = sustain(brief(), [&] {
    products_.multiply(lane_, reading, -1, {a.data(), m, depth, m}, {b.data(), depth, m, depth}, 1,
                       {c.as<float>(), m, m, m});
  });
  const double work = 2 * static_cast<double>(m) * static_cast<double>(m * depth);
  reached = work / timing.mean;
  rate({{"part", "product"},
        {"name", fmt::format("product {}, {} x {}, K = {}", name, m, m, depth)},
        {"precision", name},
        {"m", m},
        {"n", m},
        {"k", depth}},
       timing, work, tera, "TFLOP/s", 0);
}

void Ceilings::generators() {
  const std::int64_t rows = sizes_.tall;
  const std::int64_t cols = sizes_.block;
  const Buffer memory = device_->allocate(rows * cols * 4);
  const Timing timing = sustain(brief(), [&] {
    device_->generate(*queue_, spec(rows), Distribution(rows, rows, 1, 0),
                      Distribution(cols, cols, 1, 0), {memory.as<float>(), rows, cols, rows});
  });
  rate({{"part", "generate"}, {"name", fmt::format("generate {} x {}", rows, cols)}}, timing,
       4 * static_cast<double>(rows * cols), giga, "GB/s", copy_);
  multiply(false);
  multiply(true);
}

void Ceilings::multiply(bool all_sums) {
  const std::int64_t n = sizes_.generated;
  const Buffer vectors = device_->allocate(4 * n * 8);
  double* x = vectors.as<double>();
  const std::vector<double> ones(static_cast<std::size_t>(n), 1.0);
  device_->upload(*queue_, ones, x);
  const Distribution whole(n, n, 1, 0);
  const Timing timing = sustain(brief(), [&] {
    device_->multiply_generated(*queue_, spec(n), whole, whole, x, x + n,
                                all_sums ? x + 2 * n : nullptr, all_sums ? x + 3 * n : nullptr);
  });
  const double entries = static_cast<double>(n) * static_cast<double>(n);
  rate({{"part", all_sums ? "multiply_generated_all" : "multiply_generated"},
        {"name", fmt::format("multiply_generated{}, n = {}", all_sums ? ", all sums" : "", n)}},
       timing, entries, giga, "Gentry/s", 0);
}

void Ceilings::vectors() {
  const std::int64_t rows = sizes_.tall;
  const std::int64_t cols = sizes_.block * 2;
  const Buffer memory = device_->allocate(rows * cols * 4);
  const Buffer xy = device_->allocate((rows + cols) * 8);
  fill({memory.as<float>(), rows, cols, rows});
  const std::vector<double> ones(static_cast<std::size_t>(rows + cols), 1.0);
  device_->upload(*queue_, ones, xy.as<double>());
  const Timing timing = sustain(brief(), [&] {
    device_->subtract_product(*queue_, {memory.as<float>(), rows, cols, rows}, xy.as<double>(),
                              xy.as<double>() + cols);
  });
  rate(
      {{"part", "subtract_product"}, {"name", fmt::format("subtract_product {} x {}", rows, cols)}},
      timing, 4 * static_cast<double>(rows * cols), giga, "GB/s", read_);
  const Buffer low = device_->allocate(rows * sizes_.block * 2);
  const Timing cast = sustain(brief(), [&] {
    device_->cast(*queue_, {memory.as<float>(), rows, sizes_.block, rows}, 1,
                  {Precision::fp16, low.data(), rows, sizes_.block, rows}, header(0), status());
  });
  // Read for the largest magnitude, and once more to be rounded.
  rate({{"part", "cast"}, {"name", fmt::format("cast to fp16, {} x {}", rows, sizes_.block)}}, cast,
       10 * static_cast<double>(rows * sizes_.block), giga, "GB/s", copy_);
}

void Ceilings::panel() {
  const std::int64_t w = sizes_.block;
  const std::int64_t m = sizes_.solved;
  const Buffer block_memory = device_->allocate(w * w * 4);
  const Buffer source_memory = device_->allocate(m * w * 4);
  const MatrixView<float> block{block_memory.as<float>(), w, w, w};
  const MatrixView<float> square{source_memory.as<float>(), w, w, w};
  fill(square);
  const auto order = static_cast<double>(w);
  const Timing timing = sustain(brief(), [&] {
    device_->copy(*queue_, square, block);
    device_->factor_diagonal(*queue_, block, 0, status());
  });
  rate({{"part", "factor_diagonal"}, {"name", fmt::format("factor_diagonal, order {}", w)}}, timing,
       2.0 / 3 * order * order * order, tera, "TFLOP/s", fp32_);
  solves(block, {source_memory.as<float>(), m, w, m});
}

/// What is solved for is restored before each run, or it would fall to zero; that time is taken
/// off.
void Ceilings::solves(MatrixView<float> block, MatrixView<float> column) {
  const std::int64_t m = column.rows;
  const std::int64_t w = column.cols;
  const Buffer memory = device_->allocate(m * w * 4);
  const MatrixView<float> row{column.data, w, m, w};
  const auto measure = [&](const std::string& part, MatrixView<float> source, auto solve) {
    fill(source);
    const MatrixView<float> target{memory.as<float>(), source.rows, source.cols, source.ld};
    const Timing copied = sustain(brief() / 4, [&] { device_->copy(*queue_, source, target); });
    Timing timing = sustain(brief(), [&] {
      device_->copy(*queue_, source, target);
      solve(target);
    });
    timing.mean = std::max(timing.mean - copied.mean, timing.mean / 100);
    timing.best = std::max(timing.best - copied.mean, timing.best / 100);
    const auto order = static_cast<double>(w);
    rate({{"part", part}, {"name", fmt::format("{}, {} x {}", part, source.rows, source.cols)}},
         timing, static_cast<double>(m) * order * order, tera, "TFLOP/s", tf32_);
  };
  measure("solve_right_upper", column, [&](MatrixView<float> b) {
    device_->solve_right_upper(*queue_, block, b, Precision::fp16);
  });
  measure("solve_left_lower", row, [&](MatrixView<float> b) {
    device_->solve_left_lower(*queue_, block, b, Precision::fp16);
  });
}

Options read_options(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    char* end = nullptr;
    if (word == "--json") {
      options.json = true;
    } else if (word == "--smoke") {
      options.smoke = true;
    } else if (word == "--seconds" && i + 1 < argc &&
               (options.seconds = std::strtod(argv[++i], &end)) > 0 && *end == '\0') {
      continue;
    } else {
      throw UsageError("usage: lupine_gpu_ceilings [--seconds S] [--json] [--smoke]");
    }
  }
  if (options.smoke) options.seconds = std::min(options.seconds, 0.01);
  return options;
}

}  // namespace

}  // namespace lupine

int main(int argc, char** argv) {
  try {
    lupine::Ceilings(lupine::read_options(argc, argv)).run();
  } catch (const lupine::UsageError& error) {
    fmt::print(stderr, "lupine_gpu_ceilings: {}\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    fmt::print(stderr, "lupine_gpu_ceilings: {}\n", error.what());
    return 3;
  }
  return 0;
}
