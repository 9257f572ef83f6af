// SPDX-License-Identifier: BSD-3-Clause
// Tries Speedwell's own kernels on a GPU, those first on which most depends:
//   speedwell_gpu_kernels [--budget S] [--json] [--smoke]
// They must be right: diagonal blocks by one kernel have the same bits whatever number of its
// thread blocks runs, and the factors of the halves. Then it times them: with parts of the GPU,
// beside an update, passes, and what calls take on the host. It ends after S seconds (default 60),
// at a line; status 1 means that a kernel was wrong.
#include <cuda_runtime.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <set>
#include <speedwell/error.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/clock.hpp"
#include "cuda/kernels.hpp"
#include "device/cuda/check.hpp"
#include "meter.hpp"
#include "own_parts.hpp"
#include "side_by_side.hpp"

namespace speedwell {

namespace {

using nlohmann::ordered_json;

class KernelTrials {
 public:
  KernelTrials(const MeterOptions& options, double budget) : meter_(options), budget_(budget) {
    check(cudaDeviceGetAttribute(&multiprocessors_, cudaDevAttrMultiProcessorCount, 0),
          "cudaDeviceGetAttribute");
  }
  /// @return whether all kernels were right
  bool run() {
    for (const std::int64_t n : orders()) variants(n);
    for (const std::int64_t n : orders()) same_bits(n);
    for (const std::int64_t n : orders())
      for (const int count : parts()) time_in_part(n, count);
    host_times();
    beside_an_update();
    if (goes_on()) measure_own_parts(meter_, smoke() ? 300 : 60000);
    return right_;
  }

 private:
  bool smoke() const { return meter_.options().smoke; }
  bool goes_on() const { return clock_.now() - begin_ < budget_; }
  std::vector<std::int64_t> orders() const {
    return smoke() ? std::vector<std::int64_t>{64, 150}
                   : std::vector<std::int64_t>{2048, 1024, 3072, 256, 100, 64};
  }
  /// Multiprocessors.
  std::vector<int> parts() const {
    if (smoke()) return {multiprocessors_};
    std::vector<int> counts{8, 16, 32, 64};
    std::erase_if(counts, [&](int count) { return count >= multiprocessors_; });
    counts.push_back(multiprocessors_);
    return counts;
  }
  /// A block whose factors grow little, and memory for its factors.
  struct Matrices {
    Buffer source, memory, scratch;
    MatrixView<float> a{}, lu{};
  };
  Matrices matrices(std::int64_t n);
  void factor(const Matrices& m, int blocks);
  double milliseconds(const Matrices& m, int blocks);
  void wrong(ordered_json& line, bool is_wrong) {
    line["verdict"] = is_wrong ? "wrong" : "right";
    right_ = right_ && !is_wrong;
  }

  void variants(std::int64_t n);
  void same_bits(std::int64_t n);
  void time_in_part(std::int64_t n, int count);
  void host_times();
  void beside_an_update();

  Meter meter_;
  double budget_;
  SteadyClock clock_;
  double begin_ = clock_.now();
  int multiprocessors_ = 0;
  bool right_ = true;
  std::set<std::pair<std::string, std::int64_t>> shown_;  // variants by operation and size
};

KernelTrials::Matrices KernelTrials::matrices(std::int64_t n) {
  Device& device = meter_.device();
  Matrices m{device.allocate(4 * n * n), device.allocate(4 * n * n),
             device.allocate(cuda::factor_block_scratch(n))};
  m.a = floats(m.source, n, n);
  m.lu = floats(m.memory, n, n);
  meter_.fill(m.a);
  return m;
}

void KernelTrials::factor(const Matrices& m, int blocks) {
  check(cuda::factor_block(meter_.lane().stream(), m.lu, 0, blocks, m.scratch.data(),
                           &meter_.status()->bad_pivot, &meter_.status()->stuck),
        "factor_block");
}

// Both variants of what has two, as a run's warm-up tries them: the results of one are compared
// with those of the other.
void KernelTrials::variants(std::int64_t n) {
  if (!goes_on()) return;
  const std::int64_t rows = smoke() ? 17000 : 60000;
  const auto prepare = [&](const QueueWork& work) {
    meter_.device().prepare(meter_.queue(), work);
  };
  prepare({.width = n,
           .solved_rows = rows,
           .purpose = Precision::fp16,
           .factors = true,
           .inverts = true});
  prepare({.width = n, .solved_columns = rows, .purpose = Precision::fp64, .inverts = true});
  for (const Precision precision : {Precision::fp32, Precision::fp64})
    for (const std::int64_t tall : {rows, std::int64_t{4096}})
      prepare({.width = n, .purpose = precision, .permutes = true, .leaf_rows = tall});
  for (const VariantChoice& one : meter_.device().variant_choices()) {
    if (!shown_.emplace(one.operation, one.size).second) continue;
    ordered_json line{{"part", "variants"},
                      {"name", fmt::format("{} of {}: {} kernels; few {:.3f} ms, many {:.3f} ms",
                                           one.operation, one.size, one.few ? "few" : "many",
                                           one.few_milliseconds, one.many_milliseconds)},
                      {"operation", one.operation},
                      {"size", one.size},
                      {"few_milliseconds", one.few_milliseconds},
                      {"many_milliseconds", one.many_milliseconds},
                      {"from_vectors", one.least_vectors},
                      {"why", one.why}};
    wrong(line, !one.why.empty());
    meter_.emit(line);
  }
}

void KernelTrials::same_bits(std::int64_t n) {
  constexpr std::array grids{264, 1, 3, 16, 32};
  const Matrices m = matrices(n);
  const auto size = static_cast<std::size_t>(n * n);
  std::vector<float> first(size);
  std::vector<float> found(size);
  Device& device = meter_.device();
  device.upload(meter_.queue(), std::vector<FactorStatus>(1), meter_.status());
  const int repeats = smoke() ? 2 : n > 1000 ? 5 : 50;
  for (const int blocks : grids) {
    int different = 0;
    int runs = 0;
    for (; runs < repeats && goes_on(); ++runs) {
      device.copy(meter_.queue(), m.a, m.lu);
      meter_.synchronize();
      factor(m, blocks);
      meter_.synchronize();
      std::vector<float>& to = blocks == grids[0] && runs == 0 ? first : found;
      device.download(meter_.queue(), m.lu.data, to);
      if (&to == &found && found != first) ++different;
    }
    if (runs == 0) return;
    FactorStatus status;
    device.download(meter_.queue(), meter_.status(), std::span(&status, 1));
    ordered_json line{{"part", "diagonal_bits"},
                      {"name", fmt::format("diagonal block of order {}, {} thread blocks: {} of {} "
                                           "runs differ",
                                           n, blocks, different, runs)},
                      {"order", n},
                      {"blocks", blocks},
                      {"runs", runs},
                      {"different", different},
                      {"stuck", status.stuck},
                      {"bad_pivot", status.bad_pivot}};
    wrong(line, different > 0 || status.stuck != 0 || status.bad_pivot >= 0);
    meter_.emit(line);
  }
}

double KernelTrials::milliseconds(const Matrices& m, int blocks) {
  double best = 0;
  for (int time = 0; time < 5; ++time) {
    meter_.device().copy(meter_.queue(), m.a, m.lu);
    meter_.synchronize();
    const double begin = clock_.now();
    factor(m, blocks);
    meter_.synchronize();
    const double each = 1e3 * (clock_.now() - begin);
    best = time == 0 ? each : std::min(best, each);
  }
  return best;
}

// The kernel with as many thread blocks as so many multiprocessors hold, one or two on each.
void KernelTrials::time_in_part(std::int64_t n, int count) {
  if (!goes_on()) return;
  const Matrices m = matrices(n);
  const double one = milliseconds(m, count);
  const double two = milliseconds(m, cuda::factor_blocks_at_once * count);
  meter_.emit({{"part", "diagonal_time"},
               {"name", fmt::format("diagonal block of order {} on {} multiprocessors: {:.3f} ms, "
                                    "two thread blocks on each {:.3f} ms",
                                    n, count, one, two)},
               {"order", n},
               {"multiprocessors", count},
               {"milliseconds", one},
               {"milliseconds_of_two", two}});
}

// What the host does while it gives the GPU work.
void KernelTrials::host_times() {
  if (!goes_on()) return;
  Device& device = meter_.device();
  const auto time = [&](const char* what, const auto& work) {
    work();
    meter_.synchronize();
    const double begin = clock_.now();
    work();
    const double given = clock_.now() - begin;
    meter_.synchronize();
    meter_.emit({{"part", "host_time"},
                 {"name", fmt::format("{}: the host takes {:.1f} us", what, 1e6 * given)},
                 {"what", what},
                 {"host_microseconds", 1e6 * given}});
  };
  const Matrices m = matrices(orders().front());
  time("factor_diagonal",
       [&] { device.factor_diagonal(meter_.queue(), m.lu, 0, meter_.status()); });
  time("one kernel for a diagonal block", [&] { factor(m, 2 * multiprocessors_); });
  time("cast", [&] {
    device.cast(meter_.queue(), m.a, 1,
                {Precision::fp16, m.memory.data(), m.a.rows, m.a.rows, m.a.rows}, meter_.control(0),
                meter_.status());
  });
  for (const std::size_t bytes : {std::size_t{100} << 20, std::size_t{1000} << 20}) {
    if (smoke()) break;
    time(bytes < (std::size_t{500} << 20) ? "cudaMalloc and cudaFree, 0.1 GiB"
                                          : "cudaMalloc and cudaFree, 1 GiB",
         [&] {
           void* at = nullptr;
           check(cudaMalloc(&at, bytes), "cudaMalloc");
           check(cudaFree(at), "cudaFree");
         });
  }
}

void KernelTrials::beside_an_update() {
  if (!goes_on()) return;
  Device& device = meter_.device();
  const std::int64_t n = orders().front();
  const std::int64_t m = smoke() ? 96 : 60000;
  const std::int64_t columns = smoke() ? 64 : 8192;
  const Buffer l = device.allocate(2 * m * n);
  const Buffer u = device.allocate(2 * n * columns);
  const Buffer c = device.allocate(4 * m * columns);
  const Buffer wide = device.allocate(4 * n * std::max(m, columns));
  const AnyMatrix left{Precision::fp16, l.data(), m, n, m};
  const AnyMatrix right{Precision::fp16, u.data(), n, columns, n};
  meter_.fill(floats(wide, m, n));
  device.cast(meter_.queue(), floats(wide, m, n), 1, left, meter_.control(0), meter_.status());
  meter_.fill(floats(wide, n, columns));
  device.cast(meter_.queue(), floats(wide, n, columns), -1, right, meter_.control(1),
              meter_.status());
  meter_.fill(floats(c, m, columns));
  const std::vector<int> reserved = smoke() ? std::vector<int>{1} : std::vector<int>{0, 8, 16, 32};
  measure_side_by_side(meter_, {left, right, floats(c, m, columns)}, n, reserved, multiprocessors_);
}

bool run(int argc, char** argv) {
  MeterOptions options;
  options.seconds = 0.6;
  double budget = 60;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    options.json |= word == "--json";
    options.smoke |= word == "--smoke";
    if (word == "--json" || word == "--smoke") continue;
    char* end = nullptr;
    if (word == "--budget" && i + 1 < argc) budget = std::strtod(argv[++i], &end);
    if (end == nullptr || *end != '\0' || !(budget > 0))
      throw UsageError("usage: speedwell_gpu_kernels [--budget S] [--json] [--smoke]");
  }
  if (options.smoke) options.seconds = 0.01;
  return KernelTrials(options, budget).run();
}

}  // namespace

}  // namespace speedwell

int main(int argc, char** argv) {
  try {
    return speedwell::run(argc, argv) ? 0 : 1;
  } catch (const speedwell::UsageError& error) {
    fmt::print(stderr, "speedwell_gpu_kernels: {}\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    fmt::print(stderr, "speedwell_gpu_kernels: {}\n", error.what());
    return 3;
  }
}
