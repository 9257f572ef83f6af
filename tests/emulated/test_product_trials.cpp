// SPDX-License-Identifier: BSD-3-Clause
// Which of the algorithms that cuBLASLt offers a product takes: the first, or in a rehearsal the
// fastest. The emulation says how long each takes.
#include <cuda_emulation.hpp>

#include "bench/benchmark_runner.hpp"
#include "catch.hpp"
#include "comm/communicator.hpp"
#include "cuda_emulation/bench.hpp"
#include "device/cuda/check.hpp"
#include "device/cuda/products.hpp"
#include "device_choice.hpp"

namespace speedwell::test::product_trials_tests {
namespace {

// Some 2^30 operations: hardly more than are worth a trial.
constexpr std::int64_t m = 1000;
constexpr std::int64_t n = 1060;
constexpr std::int64_t k = 512;

/// What cuBLASLt offers while this lives.
struct Offer : emulation::Environment {
  explicit Offer(const std::string& algorithms)
      : Environment("SPEEDWELL_EMULATED_ALGORITHMS", algorithms) {}
};

/// Products of one device in FP32, and how often each algorithm ran.
class Bench {
 public:
  Bench() {
    fill(a_, 1);
    fill(b_, 2);
    const float alpha = 2;
    write(alpha_, std::vector<float>{alpha});
  }

  /// C <- beta C + 2 A B for the first `rows` rows. Returns C.
  std::vector<float> multiply(float beta, std::int64_t rows = m, std::int64_t columns = n) {
    set_result(beta);
    products_.multiply(lane_, Reading::fp32, 2, {a_.data(), rows, k, m}, {b_.data(), k, columns, k},
                       beta, {c_.as<float>(), rows, columns, m});
    return result();
  }
  /// C <- C + 2 A B, the scalars in device memory.
  std::vector<float> add() {
    set_result(1);
    products_.add(lane_, Reading::fp32, alpha_.as<float>(), {a_.data(), m, k, m},
                  {b_.data(), k, n, k}, {Precision::fp32, c_.data(), m, n, m});
    return result();
  }
  void rehearse(bool on) { products_.rehearse(on); }
  void limit_to(int multiprocessors) { lane_.set_multiprocessors(multiprocessors); }
  std::vector<ProductChoice> choices() const { return products_.choices(); }
  /// As multiply(), without a wait for the GPU.
  void start() {
    products_.multiply(lane_, Reading::fp32, 2, {a_.data(), m, k, m}, {b_.data(), k, n, k}, 0,
                       {c_.as<float>(), m, n, m});
  }

 private:
  void fill(Buffer& to, int salt) {
    std::vector<float> host(static_cast<std::size_t>(to.bytes() / 4));
    for (std::size_t i = 0; i < host.size(); ++i)
      host[i] = static_cast<float>((i * 7 + static_cast<std::size_t>(salt) * 11) % 13) - 5.5F;
    write(to, host);
  }
  void write(Buffer& to, const std::vector<float>& host) {
    check(cudaMemcpyAsync(to.data(), host.data(), 4 * host.size(), cudaMemcpyHostToDevice,
                          lane_.stream()),
          "cudaMemcpyAsync");
  }
  void set_result(float beta) {
    if (beta != 0) return fill(c_, 3);
    write(c_, std::vector<float>(static_cast<std::size_t>(m * n), NAN));
  }
  std::vector<float> result() {
    std::vector<float> host(static_cast<std::size_t>(m * n));
    check(cudaMemcpyAsync(host.data(), c_.data(), 4 * host.size(), cudaMemcpyDeviceToHost,
                          lane_.stream()),
          "cudaMemcpyAsync");
    check(cudaStreamSynchronize(lane_.stream()), "cudaStreamSynchronize");
    return host;
  }

  Lane lane_{Priority::normal};
  Products products_;
  Buffer a_ = allocate_on_gpu(m * k * 4);
  Buffer b_ = allocate_on_gpu(k * n * 4);
  Buffer c_ = allocate_on_gpu(m * n * 4);
  Buffer alpha_ = allocate_on_gpu(16);
};

/// The number of products that each of the first `count` algorithms was given while `work` ran.
template <class Work>
std::vector<long> runs(int count, Work&& work) {
  const auto now = [count] {
    std::vector<long> all;
    all.reserve(static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i)
      all.push_back(emulation::calls_of(("algorithm " + std::to_string(i)).c_str()));
    return all;
  };
  const std::vector<long> before = now();
  work();
  std::vector<long> after = now();
  for (int i = 0; i < count; ++i) after[i] -= before[i];
  return after;
}

/// Not by an operator: a failure would print a million numbers.
bool same(const std::vector<float>& a, const std::vector<float>& b) {
  return a == b;
}

/// Times are those of this machine, on which other ranks would compute too.
bool alone() {
  return Communicator::duplicate(comm_world()).size() == 1;
}

}  // namespace

TEST_CASE("a rehearsal keeps the fastest algorithm that runs", "[products]") {
  if (!alone()) return;
  Bench plain;
  const std::vector<float> expected = plain.multiply(1);
  const std::vector<float> fresh = plain.multiply(0);
  REQUIRE(std::ranges::none_of(fresh, [](float x) { return std::isnan(x); }));
  const Offer offer("300,0,x0,150");
  Bench bench;
  bench.rehearse(true);
  // Each is tried three times, one that is refused once; then the product is computed.
  CHECK(runs(4, [&] { CHECK(same(bench.multiply(1), expected)); }) ==
        std::vector<long>{4, 3, 1, 3});
  CHECK(runs(4, [&] { CHECK(same(bench.add(), expected)); }) == std::vector<long>{4, 3, 1, 3});
  CHECK(runs(4, [&] { bench.multiply(1); }) == std::vector<long>(4));
  bench.rehearse(false);
  CHECK(runs(4, [&] { CHECK(same(bench.multiply(1), expected)); }) ==
        std::vector<long>{0, 1, 0, 0});
  CHECK(runs(4, [&] { CHECK(same(bench.multiply(0), fresh)); }) == std::vector<long>{0, 1, 0, 0});
  CHECK(runs(4, [&] { CHECK(same(bench.add(), expected)); }) == std::vector<long>{0, 1, 0, 0});
  // What is known is not tried anew.
  bench.rehearse(true);
  CHECK(runs(4, [&] { CHECK(same(bench.multiply(0), fresh)); }) == std::vector<long>{0, 1, 0, 0});
}

TEST_CASE("slower algorithms compute the sizes of a class that the fastest cannot", "[products]") {
  if (!alone()) return;
  Bench plain;
  const std::vector<float> expected = plain.multiply(0);
  const Offer offer("0:995,300,150");
  Bench bench;
  bench.rehearse(true);
  bench.multiply(0, 995);
  bench.rehearse(false);
  const long choices = emulation::calls_of("cublasLtMatmulAlgoGetHeuristic");
  CHECK(runs(3, [&] { bench.multiply(0, 994); }) == std::vector<long>{1, 0, 0});
  CHECK(runs(3, [&] { CHECK(same(bench.multiply(0), expected)); }) == std::vector<long>{0, 0, 1});
  CHECK(emulation::calls_of("cublasLtMatmulAlgoGetHeuristic") == choices);
}

TEST_CASE("cuBLAS computes what all algorithms refuse", "[products]") {
  Bench plain;
  const std::vector<float> expected = plain.multiply(1);
  const Offer offer("x0,x0");
  Bench bench;
  bench.rehearse(true);
  CHECK(runs(2, [&] { CHECK(same(bench.multiply(1), expected)); }) == std::vector<long>{1, 1});
  bench.rehearse(false);
  CHECK(runs(2, [&] { CHECK(same(bench.multiply(1), expected)); }) == std::vector<long>{0, 0});
  CHECK(emulation::calls_of("cublasGemmEx_64") == 2);
}

TEST_CASE("a product takes the next algorithm where one is refused in the run", "[products]") {
  if (!alone()) return;
  Bench plain;
  const std::vector<float> expected = plain.multiply(1);
  Bench bench;
  {
    const Offer offer("x0,x0,0");
    CHECK(runs(3, [&] { CHECK(same(bench.multiply(1), expected)); }) == std::vector<long>{1, 1, 1});
    CHECK(runs(3, [&] { CHECK(same(bench.multiply(1), expected)); }) == std::vector<long>{0, 0, 1});
  }
  const std::vector<ProductChoice> all = bench.choices();
  REQUIRE(all.size() == 3);
  for (const int i : {0, 1}) CHECK(all[i].refused == "in a run");
  CHECK(all[2].refused.empty());
  CHECK(all[0].m == m);
  CHECK(all[0].reading == "fp32");
  CHECK(all[2].algorithm.starts_with("2: "));
  // One that ran in the rehearsal may be refused later, too; and at last cuBLAS computes.
  Bench rehearsed;
  {
    const Offer offer("0,300");
    rehearsed.rehearse(true);
    rehearsed.multiply(1);
    rehearsed.rehearse(false);
  }
  const Offer offer("x0,x0");
  CHECK(runs(2, [&] { CHECK(same(rehearsed.multiply(1), expected)); }) == std::vector<long>{1, 1});
  CHECK(runs(2, [&] { CHECK(same(rehearsed.multiply(1), expected)); }) == std::vector<long>{0, 0});
  CHECK(emulation::calls_of("cublasGemmEx_64") == 2);
}

TEST_CASE("an error that is no refusal ends the product", "[products]") {
  Bench bench;
  const emulation::Environment failure("SPEEDWELL_EMULATED_FAILURE", "cublasLtMatmul:1");
  CHECK_THROWS_WITH(bench.start(), ContainsSubstring("cublasLtMatmul failed"));
}

TEST_CASE("a limited product takes an algorithm that keeps to its multiprocessors", "[products]") {
  if (!alone()) return;
  const Offer offer("g3/0,g8/0,5");  // thread blocks beyond a limit of 2; the last one keeps to it
  Bench bench;
  CHECK(runs(3, [&] { bench.multiply(0); }) == std::vector<long>{1, 0, 0});
  bench.limit_to(2);
  CHECK(runs(3, [&] { bench.multiply(0); }) == std::vector<long>{0, 0, 1});
  bench.limit_to(3);
  CHECK(runs(3, [&] { bench.multiply(0); }) == std::vector<long>{1, 0, 0});
  bench.limit_to(2);
  bench.rehearse(true);
  bench.multiply(0);
  bench.rehearse(false);
  CHECK(runs(3, [&] { bench.multiply(0); }) == std::vector<long>{0, 0, 1});
  std::vector<std::int64_t> blocks;
  for (const ProductChoice& one : bench.choices())
    if (one.multiprocessors == 2) blocks.push_back(one.blocks);
  REQUIRE(blocks.size() == 3);
  CHECK(blocks.front() == 2);
}

TEST_CASE("a limit that was not rehearsed takes no choice without a limit", "[products]") {
  if (!alone()) return;
  const Offer offer("g8/0,300");
  Bench bench;
  bench.rehearse(true);
  bench.multiply(0);
  bench.rehearse(false);
  CHECK(runs(2, [&] { bench.multiply(0); }) == std::vector<long>{1, 0});
  const long choices = emulation::calls_of("cublasLtMatmulAlgoGetHeuristic");
  bench.limit_to(2);
  CHECK(runs(2, [&] { bench.multiply(0); }) == std::vector<long>{0, 1});
  CHECK(emulation::calls_of("cublasLtMatmulAlgoGetHeuristic") == choices);
}

TEST_CASE("where none keeps to the limit, the fastest runs", "[products]") {
  if (!alone()) return;
  const Offer offer("g64/300,g32/0");
  Bench bench;
  bench.limit_to(2);
  bench.rehearse(true);
  bench.multiply(0);
  bench.rehearse(false);
  CHECK(runs(2, [&] { bench.multiply(0); }) == std::vector<long>{0, 1});
}

TEST_CASE("nothing is timed outside of a rehearsal, and no small product", "[products]") {
  const Offer offer("1,0");
  Bench bench;
  CHECK(runs(2, [&] { bench.multiply(0); }) == std::vector<long>{1, 0});
  bench.rehearse(true);
  CHECK(runs(2, [&] { bench.multiply(0, m, 400); }) == std::vector<long>{1, 0});
  CHECK(emulation::calls_of("cudaEventRecord") == 0);
  // That a class is known is no reason not to try it.
  CHECK(runs(2, [&] { bench.multiply(0); }) == std::vector<long>{4, 3});
  CHECK(emulation::calls_of("cudaEventRecord") == 8);
}

TEST_CASE("a choice without times is the heuristic's", "[products]") {
  const emulation::Environment order("SPEEDWELL_EMULATION_ORDER", "low-first");  // nothing runs yet
  const Offer offer("1,0,x0");
  Bench bench;
  bench.rehearse(true);
  CHECK(runs(3, [&] { bench.start(); }) == std::vector<long>{4, 3, 1});
  bench.rehearse(false);
  CHECK(runs(3, [&] { bench.multiply(0); }) == std::vector<long>{1, 0, 0});
}

TEST_CASE("no algorithm adds parts of a sum in an order that may vary", "[products]") {
  const Offer offer("i0,0,i0,0");
  Bench bench;
  CHECK(runs(4, [&] { bench.multiply(0); }) == std::vector<long>{0, 1, 0, 0});
  bench.rehearse(true);
  CHECK(runs(4, [&] { bench.add(); }) == std::vector<long>{0, 4, 0, 3});
}

TEST_CASE("a benchmark's warm-up tries algorithms, and its run does not", "[products]") {
  if (!alone()) return;
  BenchmarkOptions options;
  options.n = 2200;
  options.run.nb = 400;
  options.run.device = device_choice().device;
  options.run.comm = device_choice().comm;
  BenchmarkRunner runner(comm_world(), options);
  // The second algorithm runs in trials, and then if it was the faster one.
  CHECK(runs(2, [&] { runner.warm_up(); })[1] >= 3);
  const long recorded = emulation::calls_of("cudaEventElapsedTime");
  CHECK(recorded > 0);
  CHECK(runner.run().result.passed);
}
}  // namespace speedwell::test::product_trials_tests
