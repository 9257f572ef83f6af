// SPDX-License-Identifier: BSD-3-Clause
// Measures the highest rates of a GPU in the shapes that HPL-MxP uses, and those of Speedwell's
// parts:
//   speedwell_gpu_ceilings [--n N] [--seconds S] [--json] [--smoke]
// N is the order of the run whose shapes are measured (default: the largest that fits). Each
// product runs for S seconds (default 3), one of them more than three times as long, since a GPU
// becomes slower when it is hot. With --json it prints each measurement at once as a JSON object in
// a line.
#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <speedwell/error.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.hpp"
#include "device/cuda/check.hpp"
#include "device/cuda/launch_grid.hpp"
#include "kernels.hpp"
#include "matrix/distributed_matrix.hpp"
#include "matrix/panel_ring.hpp"
#include "meter.hpp"
#include "own_parts.hpp"
#include "side_by_side.hpp"

namespace speedwell {

namespace {

using nlohmann::ordered_json;

/// The depth K of most products that are measured: Speedwell's block size on a GPU.
constexpr std::int64_t usual_depth = 2048;
constexpr double part_of_memory = 0.95;  // part of the free memory that a run's matrix fills

struct Sizes {
  std::int64_t n;                    // order of the run
  std::int64_t buffer;               // bytes that are read or copied
  std::int64_t columns;              // columns of an update
  std::vector<std::int64_t> depths;  // depths K of an update
  std::int64_t block;                // columns of a panel
  std::int64_t wide;                 // rows and columns of the FP64 and FP32 products
  std::vector<std::int64_t> fp64_depths;
};

/// Sizes for a GPU with a large memory, reduced where the memory is smaller.
Sizes sizes_for(Meter& meter) {
  if (meter.options().smoke) return {300, 1 << 16, 96, {32, 48}, 32, 64, {16, 32}};
  const auto free = static_cast<double>(meter.device().memory()->free);
  if (free < 4096e6) throw Fault("less than 4 GB of the GPU's memory is free");
  Sizes sizes{
      meter.options().n, std::int64_t{4} << 30, 16384, {1024, 2048, 3072, 4096}, usual_depth, 16384,
      {512, 1024}};
  const auto largest = static_cast<std::int64_t>(std::sqrt(part_of_memory * free / 4));
  if (sizes.n <= 0 || sizes.n > largest) sizes.n = largest;
  sizes.columns = std::min(sizes.columns, sizes.n / 4 / 64 * 64);
  while (3.5 * static_cast<double>(sizes.buffer) > free) sizes.buffer /= 2;
  while (8.0 * 2 * static_cast<double>(sizes.wide * sizes.wide) > free) sizes.wide /= 2;
  return sizes;
}

/// A CUDA event that records its time.
class Mark {
 public:
  Mark() { check(cudaEventCreateWithFlags(&event_, cudaEventDefault), "cudaEventCreateWithFlags"); }
  Mark(const Mark&) = delete;
  Mark& operator=(const Mark&) = delete;
  ~Mark() { cudaEventDestroy(event_); }
  void record(Lane& lane) { check(cudaEventRecord(event_, lane.stream()), "cudaEventRecord"); }
  void hold(Lane& lane) {
    check(cudaStreamWaitEvent(lane.stream(), event_, 0), "cudaStreamWaitEvent");
  }
  double since(const Mark& earlier) const {
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, earlier.event_, event_), "cudaEventElapsedTime");
    return milliseconds / 1e3;
  }

 private:
  cudaEvent_t event_ = nullptr;
};

class Ceilings {
 public:
  explicit Ceilings(const MeterOptions& options)
      : meter_(options), device_(meter_.device()), sizes_(sizes_for(meter_)) {
    check(cudaDeviceGetAttribute(&multiprocessors_, cudaDevAttrMultiProcessorCount, 0),
          "cudaDeviceGetAttribute");
  }

  void run() {
    meter_.emit({{"part", "device"},
                 {"name", device_.description()},
                 {"n", sizes_.n},
                 {"multiprocessors", multiprocessors_}});
    bandwidth();
    low_precision();
    for (const std::int64_t depth : sizes_.fp64_depths) fp64(depth);
    product("fp32", Reading::fp32, meter_.reached.fp32);
    measure_own_parts(meter_, sizes_.n);
  }

 private:
  /// The operands of an update in a run: panels of 16 bits, and columns of the matrix.
  struct Update {
    Buffer l_memory, u_memory, c_memory;
    AnyMatrix l, u;
    MatrixView<float> c;
  };

  void bandwidth();
  void low_precision();
  Update make_update(Precision precision);
  void fp16(const Update& all, std::int64_t depth, int reserved, double seconds);
  void own_update(const Update& all);
  void beside(const Update& all, int reserved);
  void multiply(Lane& lane, const Update& all, std::int64_t depth, std::int64_t columns);
  void product(const std::string& name, Reading reading, double& reached);
  void fp64(std::int64_t depth);
  void fp64_update(ConstAnyMatrix l, ConstAnyMatrix u, AnyMatrix c, double product);
  /// Numbers of multiprocessors that updates leave to panels: 0, the smallest number, and twice
  /// that.
  std::array<int, 3> reserves() const {
    const int unit = multiprocessors_ >= 32 ? 8 : 1;
    return {0, unit, 2 * unit};
  }

  Meter meter_;
  Device& device_;
  Sizes sizes_;
  int multiprocessors_ = 0;
};

void Ceilings::bandwidth() {
  const std::int64_t bytes = sizes_.buffer;
  const Buffer from = device_.allocate(bytes);
  const Buffer to = device_.allocate(bytes);
  const std::int64_t column = std::min<std::int64_t>(bytes / 4, 1 << 14);
  meter_.fill(floats(from, column, bytes / 4 / column));
  const Timing copied = meter_.sustain(meter_.seconds(), [&] {
    check(cudaMemcpyAsync(to.data(), from.data(), static_cast<std::size_t>(bytes),
                          cudaMemcpyDeviceToDevice, meter_.lane().stream()),
          "cudaMemcpyAsync");
  });
  const auto size = static_cast<double>(bytes);
  meter_.reached.copy = 2 * size / copied.mean;
  meter_.rate({{"part", "copy"}, {"name", "copy, bytes read and written"}}, copied, 2 * size, giga,
              "GB/s", 0);
  const int blocks = meter_.options().smoke ? 1 : 2 * multiprocessors_;  // to have enough loads
  const Timing read = meter_.sustain(meter_.brief(), [&] {
    check(cuda::read_all(meter_.lane().stream(), from.data(), bytes, blocks, meter_.sink()),
          "read_all");
  });
  meter_.reached.read = size / read.mean;
  meter_.rate({{"part", "read"}, {"name", "read"}}, read, size, giga, "GB/s", 0);
}

/// The operands with the number of rows and the leading dimensions of the run's first step.
Ceilings::Update Ceilings::make_update(Precision precision) {
  const std::int64_t m = sizes_.n;
  const std::int64_t depth = sizes_.depths.back();
  const std::int64_t columns = sizes_.columns;
  const std::int64_t l_ld = PanelRing::leading_dimension(m);
  const std::int64_t u_ld = PanelRing::leading_dimension(depth);
  const std::int64_t c_ld = DistributedMatrix::leading_dimension(m);
  Update all{device_.allocate(l_ld * depth * 2),
             device_.allocate(u_ld * columns * 2),
             device_.allocate(c_ld * std::max(columns, depth) * 4),
             {},
             {},
             {}};
  all.l = {precision, all.l_memory.data(), m, depth, l_ld};
  all.u = {precision, all.u_memory.data(), depth, columns, u_ld};
  const auto cast = [&](double sign, AnyMatrix to, int at) {
    const MatrixView<float> from{all.c_memory.as<float>(), to.rows, to.columns, to.rows};
    meter_.fill(from);
    device_.cast(meter_.queue(), from, sign, to, meter_.control(at), meter_.status());
    meter_.queue().synchronize();
  };
  cast(1, all.l, 0);
  cast(-1, all.u, 1);
  all.c = {all.c_memory.as<float>(), m, columns, c_ld};
  meter_.fill(all.c);
  return all;
}

/// C <- C + L U with the first `depth` columns of L and rows of U, for the first `columns` columns
/// of C. A factor of 2^-30 removes the scales of 2^15 of L and U, so that repeated sums stay
/// finite.
void Ceilings::multiply(Lane& lane, const Update& all, std::int64_t depth, std::int64_t columns) {
  constexpr float unscaled = 0x1p-30F;
  const Reading reading = all.l.precision == Precision::fp16 ? Reading::fp16 : Reading::bf16;
  MatrixView<float> c = all.c;
  c.columns = columns;
  meter_.products().multiply(lane, reading, unscaled, {all.l.data, all.l.rows, depth, all.l.ld},
                             {all.u.data, depth, columns, all.u.ld}, 1, c);
}

void Ceilings::low_precision() {
  const Update all = make_update(Precision::fp16);
  for (const std::int64_t depth : sizes_.depths)
    for (const int reserved : reserves()) fp16(all, depth, reserved, meter_.seconds());
  fp16(all, sizes_.depths[1], 0, meter_.seconds() * 10 / 3);
  own_update(all);
  for (const int reserved : reserves()) beside(all, reserved);
  AnyMatrix l = all.l;
  AnyMatrix u = all.u;
  l.columns = u.rows = sizes_.depths[1];
  measure_side_by_side(meter_, {l, u, all.c}, sizes_.block, reserves(), multiprocessors_);
}

void Ceilings::fp16(const Update& all, std::int64_t depth, int reserved, double seconds) {
  Lane& lane = meter_.lane();
  const std::int64_t m = all.c.rows;
  const std::int64_t columns = all.c.columns;
  const auto work = [&] { multiply(lane, all, depth, columns); };
  lane.set_multiprocessors(reserved == 0 ? 0 : multiprocessors_ - reserved);
  const Timing timing = meter_.sustain(seconds, work);
  ordered_json kernels = ordered_json::array();
  for (const LaunchedKernel& kernel : launched_kernels(lane.stream(), work))
    kernels.push_back({{"name", kernel.name}, {"grid", kernel.grid}, {"block", kernel.block}});
  lane.set_multiprocessors(0);
  const double work_done = operations(m, columns, depth);
  meter_.reached.fp16 = std::max(meter_.reached.fp16, work_done / timing.mean);
  meter_.rate({{"part", "product"},
               {"name", fmt::format("product fp16, {} x {}, K = {}, {} of {} multiprocessors{}", m,
                                    columns, depth, multiprocessors_ - reserved, multiprocessors_,
                                    seconds > meter_.seconds() ? ", longer" : "")},
               {"precision", "fp16"},
               {"m", m},
               {"n", columns},
               {"k", depth},
               {"ld", all.c.ld},
               {"multiprocessors", multiprocessors_ - reserved},
               {"kernels", kernels}},
              timing, work_done, tera, "TFLOP/s", 0);
}

/// C <- C + L U as the solver computes it: by Device::update, with no multiprocessor reserved.
void Ceilings::own_update(const Update& all) {
  const std::int64_t depth = sizes_.depths[1];
  AnyMatrix l = all.l;
  AnyMatrix u = all.u;
  l.columns = u.rows = depth;
  const Timing timing = meter_.sustain(meter_.seconds(), [&] {
    device_.update(meter_.queue(), l, meter_.control(0), u, meter_.control(1), all.c, {});
  });
  meter_.rate(
      {{"part", "update"},
       {"name", fmt::format("update fp16, {} x {}, K = {}", all.c.rows, all.c.columns, depth)},
       {"precision", "fp16"},
       {"m", all.c.rows},
       {"n", all.c.columns},
       {"k", depth}},
      timing, operations(all.c.rows, all.c.columns, depth), tera, "TFLOP/s", meter_.reached.fp16);
}

/// Starts the update of a panel's own column on a stream of high priority while the rest of the
/// update runs on another stream. Measures the time until the column is done and the loss of the
/// rest.
void Ceilings::beside(const Update& all, int reserved) {
  constexpr int pieces = 4;
  const std::int64_t depth = sizes_.depths[1];
  const std::int64_t own = std::min(sizes_.block, all.c.columns / 2);
  Lane& rest = meter_.lane();
  Lane panels(Priority::high);
  if (reserved > 0) {
    rest.set_multiprocessors(multiprocessors_ - reserved);
    panels.set_multiprocessors(reserved);
  }
  const Update narrow{{}, {}, {}, all.l, all.u, all.c};
  Update others{{}, {}, {}, all.l, all.u, all.c};
  others.c.data += own * others.c.ld;
  others.c.columns -= own;
  Mark begin;
  Mark panel_done;
  Mark rest_done;
  const auto together = [&](int count, bool with_panel) {
    begin.record(rest);
    for (int i = 0; i < count; ++i) multiply(rest, others, depth, others.c.columns);
    rest_done.record(rest);
    begin.hold(panels);
    if (with_panel) multiply(panels, narrow, depth, own);
    panel_done.record(panels);
    check(cudaStreamSynchronize(panels.stream()), "cudaStreamSynchronize");
    meter_.synchronize();
  };
  meter_.prepare([&] { together(1, false); });
  meter_.prepare([&] { together(0, true); });
  double panel = 0, rest_beside = 0, panel_alone = 0, rest_alone = 0;
  std::int64_t runs = 0;
  const SteadyClock clock;
  const double start = clock.now();
  for (; runs == 0 || clock.now() - start < meter_.seconds(); ++runs) {
    together(pieces, true);
    panel += panel_done.since(begin);
    rest_beside += rest_done.since(begin);
    together(0, true);
    panel_alone += panel_done.since(begin);
    together(pieces, false);
    rest_alone += rest_done.since(begin);
  }
  rest.set_multiprocessors(0);
  const auto each = static_cast<double>(runs);
  const Timing timing{panel / each, panel / each, clock.now() - start, runs};
  meter_.rate({{"part", "panel_beside_update"},
               {"name", fmt::format("panel's product {} x {} beside an update, {} reserved",
                                    all.c.rows, own, reserved)},
               {"precision", "fp16"},
               {"m", all.c.rows},
               {"n", own},
               {"k", depth},
               {"reserved", reserved},
               {"panel_alone_milliseconds", panel_alone / each * 1e3},
               {"panel_beside_milliseconds", panel / each * 1e3},
               {"update_alone_milliseconds", rest_alone / each * 1e3},
               {"update_beside_milliseconds", rest_beside / each * 1e3}},
              timing, operations(all.c.rows, own, depth), tera, "TFLOP/s",
              operations(all.c.rows, own, depth) / (panel_alone / each));
}

void Ceilings::fp64(std::int64_t depth) {
  const std::int64_t m = sizes_.wide;
  const Buffer a = device_.allocate(m * depth * 8);
  const Buffer b = device_.allocate(m * depth * 8);
  const Buffer c = device_.allocate(m * m * 8);
  const MatrixView<double> left = doubles(a, m, depth);
  const MatrixView<double> right = doubles(b, depth, m);
  const MatrixView<double> result = doubles(c, m, m);
  for (const MatrixView<double>& each : {left, right, result}) meter_.fill(each);
  constexpr double minus = -1;
  constexpr double one = 1;
  const Timing timing = meter_.sustain(meter_.seconds(), [&] {
    check(cublasDgemm_64(meter_.lane().blas(), CUBLAS_OP_N, CUBLAS_OP_N, m, m, depth, &minus,
                         a.as<double>(), m, b.as<double>(), depth, &one, c.as<double>(), m),
          "cublasDgemm_64");
  });
  const double work = operations(m, m, depth);
  meter_.reached.fp64 = std::max(meter_.reached.fp64, work / timing.mean);
  meter_.rate({{"part", "product"},
               {"name", fmt::format("product fp64, {} x {}, K = {}", m, m, depth)},
               {"precision", "fp64"},
               {"m", m},
               {"n", m},
               {"k", depth}},
              timing, work, tera, "TFLOP/s", 0);
  fp64_update(left, right, result, work / timing.mean);
}

/// Measures FP64 updates as the solver computes them, by Device::update, with the plain product's
/// rate as the highest.
void Ceilings::fp64_update(ConstAnyMatrix l, ConstAnyMatrix u, AnyMatrix c, double product) {
  for (const int at : {0, 1})
    device_.upload(meter_.queue(), std::vector<PanelControl>(1), meter_.control(at));
  const Timing timing = meter_.sustain(meter_.brief(), [&] {
    device_.update(meter_.queue(), l, meter_.control(0), u, meter_.control(1), c, {});
  });
  meter_.rate({{"part", "update_fp64"},
               {"name", fmt::format("update fp64, {} x {}, K = {}", c.rows, c.columns, l.columns)},
               {"precision", "fp64"},
               {"m", c.rows},
               {"n", c.columns},
               {"k", l.columns}},
              timing, operations(c.rows, c.columns, l.columns), tera, "TFLOP/s", product);
}

void Ceilings::product(const std::string& name, Reading reading, double& reached) {
  const std::int64_t m = sizes_.wide;
  const std::int64_t depth = sizes_.depths[0];
  const Buffer a = device_.allocate(m * depth * 4);
  const Buffer b = device_.allocate(m * depth * 4);
  const Buffer c = device_.allocate(m * m * 4);
  meter_.fill(floats(a, m, depth));
  meter_.fill(floats(b, depth, m));
  meter_.fill(floats(c, m, m));
  const Timing timing = meter_.sustain(meter_.seconds(), [&] {
    meter_.products().multiply(meter_.lane(), reading, -1, {a.data(), m, depth, m},
                               {b.data(), depth, m, depth}, 1, floats(c, m, m));
  });
  const double work = operations(m, m, depth);
  reached = work / timing.mean;
  meter_.rate({{"part", "product"},
               {"name", fmt::format("product {}, {} x {}, K = {}", name, m, m, depth)},
               {"precision", name},
               {"m", m},
               {"n", m},
               {"k", depth}},
              timing, work, tera, "TFLOP/s", 0);
}

MeterOptions read_options(int argc, char** argv) {
  MeterOptions options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    options.json |= word == "--json";
    options.smoke |= word == "--smoke";
    if (word == "--json" || word == "--smoke") continue;
    char* end = nullptr;
    const bool has_value = i + 1 < argc && (word == "--n" || word == "--seconds");
    if (has_value && word == "--n") options.n = std::strtoll(argv[++i], &end, 10);
    if (has_value && word == "--seconds") options.seconds = std::strtod(argv[++i], &end);
    const bool right = has_value && *end == '\0' && options.n >= 0 && options.seconds > 0;
    if (!right)
      throw UsageError("usage: speedwell_gpu_ceilings [--n N] [--seconds S] [--json] [--smoke]");
  }
  if (options.smoke) options.seconds = std::min(options.seconds, 0.01);
  return options;
}

}  // namespace

}  // namespace speedwell

int main(int argc, char** argv) {
  try {
    speedwell::Ceilings(speedwell::read_options(argc, argv)).run();
  } catch (const speedwell::UsageError& error) {
    fmt::print(stderr, "speedwell_gpu_ceilings: {}\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    fmt::print(stderr, "speedwell_gpu_ceilings: {}\n", error.what());
    return 3;
  }
  return 0;
}
