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
#include "panel.hpp"

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
  std::int64_t pivoted;    // columns of one with pivoting, in FP64
};
const Sizes full{std::int64_t{4} << 30,
                 32768,
                 {1024, 2048, 4096},
                 16384,
                 {512, 1024},
                 100000,
                 262144,
                 60000,
                 2048,
                 1024};
const Sizes tiny{1 << 16, 96, {32, 48}, 64, {16, 32}, 300, 400, 200, 64, 40};
constexpr std::int64_t leaf = 16;  // columns of a panel that are eliminated one after the other

constexpr double tera = 1e12;
constexpr double giga = 1e9;
constexpr double batch_seconds = 0.25;

MatrixView<float> floats(const Buffer& memory, std::int64_t rows, std::int64_t cols) {
  return {memory.as<float>(), rows, cols, rows};
}
MatrixView<double> doubles(const Buffer& memory, std::int64_t rows, std::int64_t cols) {
  return {memory.as<double>(), rows, cols, rows};
}

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
    pivoted_panel();
    permutation();
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
  void fp64_update(ConstAnyMatrix l, ConstAnyMatrix u, AnyMatrix c, double product);
  void pivoted_panel();
  void permutation();

  MatrixSpec spec(std::int64_t n) const;
  void fill(AnyMatrix a, MatrixKind kind = MatrixKind::scaled_diagonal);
  Timing without_copy(AnyMatrix source, AnyMatrix target, const std::function<void()>& work);
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
  double fp64_ = 0;
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
void Ceilings::fill(AnyMatrix a, MatrixKind kind) {
  MatrixSpec values = spec(std::max(a.rows, a.cols));
  values.kind = kind;
  device_->generate(*queue_, values, Distribution(a.rows, a.rows, 1, 0),
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
  fill(floats(from, column, bytes / 4 / column));
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
    fill(floats(c_memory, rows, cols));
    device_->cast(*queue_, floats(c_memory, rows, cols), sign, to, header(at), status());
    queue_->synchronize();
  };
  cast(m, depth, 1, l, 0);
  cast(depth, m, -1, u, 1);
  const MatrixView<float> c = floats(c_memory, m, m);
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
  const MatrixView<double> left = doubles(a, m, depth);
  const MatrixView<double> right = doubles(b, depth, m);
  const MatrixView<double> result = doubles(c, m, m);
  for (const MatrixView<double>& each : {left, right, result}) fill(each);
  constexpr double minus = -1;
  constexpr double one = 1;
  const Timing timing = sustain(o_.seconds, [&] {
    check(cublasDgemm_64(lane_.blas(), CUBLAS_OP_N, CUBLAS_OP_N, m, m, depth, &minus,
                         a.as<double>(), m, b.as<double>(), depth, &one, c.as<double>(), m),
          "cublasDgemm_64");
  });
  const double work = 2 * static_cast<double>(m) * static_cast<double>(m * depth);
  fp64_ = std::max(fp64_, work / timing.mean);
  rate({{"part", "product"},
        {"name", fmt::format("product fp64, {} x {}, K = {}", m, m, depth)},
        {"precision", "fp64"},
        {"m", m},
        {"n", m},
        {"k", depth}},
       timing, work, tera, "TFLOP/s", 0);
  fp64_update(left, right, result, work / timing.mean);
}

/// The solver's own path beside the plain product.
void Ceilings::fp64_update(ConstAnyMatrix l, ConstAnyMatrix u, AnyMatrix c, double product) {
  for (const int at : {0, 1}) device_->upload(*queue_, std::vector<PanelHeader>(1), header(at));
  const Timing timing =
      sustain(brief(), [&] { device_->update(*queue_, l, header(0), u, header(1), c, {}); });
  rate({{"part", "update_fp64"},
        {"name", fmt::format("update fp64, {} x {}, K = {}", c.rows, c.cols, l.cols)},
        {"precision", "fp64"},
        {"m", c.rows},
        {"n", c.cols},
        {"k", l.cols}},
       timing, 2 * static_cast<double>(c.rows) * static_cast<double>(c.cols * l.cols), tera,
       "TFLOP/s", product);
}

void Ceilings::product(const std::string& name, Reading reading, double& reached) {
  const std::int64_t m = sizes_.wide;
  const std::int64_t depth = sizes_.depths[0];
  const Buffer a = device_->allocate(m * depth * 4);
  const Buffer b = device_->allocate(m * depth * 4);
  const Buffer c = device_->allocate(m * m * 4);
  fill(floats(a, m, depth));
  fill(floats(b, depth, m));
  fill(floats(c, m, m));
  const Timing timing = sustain(brief(), [&] {
    products_.multiply(lane_, reading, -1, {a.data(), m, depth, m}, {b.data(), depth, m, depth}, 1,
                       floats(c, m, m));
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
                      Distribution(cols, cols, 1, 0), floats(memory, rows, cols));
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
  fill(floats(memory, rows, cols));
  const std::vector<double> ones(static_cast<std::size_t>(rows + cols), 1.0);
  device_->upload(*queue_, ones, xy.as<double>());
  const Timing timing = sustain(brief(), [&] {
    device_->subtract_product(*queue_, Transpose::no, floats(memory, rows, cols), xy.as<double>(),
                              xy.as<double>() + cols);
  });
  rate(
      {{"part", "subtract_product"}, {"name", fmt::format("subtract_product {} x {}", rows, cols)}},
      timing, 4 * static_cast<double>(rows * cols), giga, "GB/s", read_);
  const Buffer low = device_->allocate(rows * sizes_.block * 2);
  const Timing cast = sustain(brief(), [&] {
    device_->cast(*queue_, floats(memory, rows, sizes_.block), 1,
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
  const MatrixView<float> block = floats(block_memory, w, w);
  const MatrixView<float> square = floats(source_memory, w, w);
  fill(square);
  const auto order = static_cast<double>(w);
  const Timing timing = sustain(brief(), [&] {
    device_->copy(*queue_, square, block);
    device_->factor_diagonal(*queue_, block, 0, status());
  });
  rate({{"part", "factor_diagonal"}, {"name", fmt::format("factor_diagonal, order {}", w)}}, timing,
       2.0 / 3 * order * order * order, tera, "TFLOP/s", fp32_);
  solves(block, floats(source_memory, m, w));
}

/// Of work on `target`, which is restored before each run, or a solve would let it fall to zero;
/// that time is taken off.
Timing Ceilings::without_copy(AnyMatrix source, AnyMatrix target,
                              const std::function<void()>& work) {
  const Timing copied = sustain(brief() / 4, [&] { device_->copy(*queue_, source, target); });
  Timing timing = sustain(brief(), [&] {
    device_->copy(*queue_, source, target);
    work();
  });
  timing.mean = std::max(timing.mean - copied.mean, timing.mean / 100);
  timing.best = std::max(timing.best - copied.mean, timing.best / 100);
  return timing;
}

void Ceilings::solves(MatrixView<float> block, MatrixView<float> column) {
  const std::int64_t m = column.rows;
  const std::int64_t w = column.cols;
  const Buffer memory = device_->allocate(m * w * 4);
  const MatrixView<float> row{column.data, w, m, w};
  const auto measure = [&](const std::string& part, MatrixView<float> source, auto solve) {
    fill(source);
    const MatrixView<float> target{memory.as<float>(), source.rows, source.cols, source.ld};
    const Timing timing = without_copy(source, target, [&] { solve(target); });
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

/// By columns and by products, as a factorization on one GPU does it.
void Ceilings::pivoted_panel() {
  const std::int64_t m = sizes_.solved;
  const std::int64_t w = sizes_.pivoted;
  const Buffer source_memory = device_->allocate(m * w * 8);
  const Buffer memory = device_->allocate(m * w * 8);
  const Buffer pivots = device_->allocate(w * 8);
  const Buffer candidate = device_->allocate(sizeof(PivotCandidate));
  const MatrixView<double> source = doubles(source_memory, m, w);
  const MatrixView<double> panel = doubles(memory, m, w);
  fill(source, MatrixKind::hpl);  // whose pivots may be anywhere
  const Timing timing = without_copy(source, panel, [&] {
    test::factor_panel(*device_, *queue_, panel, 0, w, leaf,
                       {candidate.as<PivotCandidate>(), pivots.as<std::int64_t>(), status()});
  });
  const auto rows = static_cast<double>(m);
  const auto columns = static_cast<double>(w);
  rate({{"part", "pivoted_panel"}, {"name", fmt::format("pivoted panel fp64, {} x {}", m, w)}},
       timing, columns * columns * (rows - columns / 3), tera, "TFLOP/s", fp64_);
}

/// The rows that a panel's pivots exchange, in all other columns.
void Ceilings::permutation() {
  const std::int64_t m = sizes_.solved;
  const std::int64_t cols = sizes_.block;
  const std::int64_t w = sizes_.pivoted;
  const Buffer memory = device_->allocate(m * cols * 8);
  const MatrixView<double> a = doubles(memory, m, cols);
  fill(a);
  // The first rows and as many others, which lie apart.
  std::vector<std::int64_t> from;
  std::vector<std::int64_t> to;
  for (std::int64_t i = 0; i < w; ++i) {
    const std::int64_t other = w + i * ((m - w) / w);
    from.insert(from.end(), {i, other});
    to.insert(to.end(), {other, i});
  }
  const auto count = std::ssize(from);
  const Buffer indices = device_->allocate(2 * count * 8);
  auto* device_from = indices.as<std::int64_t>();
  device_->upload(*queue_, from, device_from);
  device_->upload(*queue_, to, device_from + count);
  const Timing timing = sustain(
      brief(), [&] { device_->permute_rows(*queue_, device_from, device_from + count, count, a); });
  rate({{"part", "permute_rows"},
        {"name", fmt::format("permute_rows fp64, {} of {} x {}", count, m, cols)}},
       timing, 16 * static_cast<double>(count * cols), giga, "GB/s", copy_);
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
