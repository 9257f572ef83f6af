// SPDX-License-Identifier: BSD-3-Clause
// The rates that bound every solver, and the clock that measures them.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "bench/host_ceilings.hpp"
#include "catch.hpp"
#include "clocks.hpp"
#include "compare/ceilings.hpp"
#include "core/fastest.hpp"
#include "cpu/peak.hpp"

namespace speedwell::test::ceilings_tests {
TEST_CASE("a few shapes stand for all updates of a run") {
  for (const std::int64_t n : {1, 2, 3, 7, 100, 1000}) {
    const auto shapes = update_shapes(n, 2, 3, 128, 400);
    double weights = 0;
    for (const UpdateShape& shape : shapes) {
      weights += shape.weight;
      CHECK((shape.rows >= 1 && shape.columns >= 1 && shape.rows <= 400));
      CHECK(shape.width == std::min<std::int64_t>(n, 128));
    }
    CHECK(weights == Approx(1));
  }
  const auto shapes = update_shapes(1000, 2, 1, 128, 600);
  REQUIRE(shapes.size() == 4);
  CHECK((shapes[0].rows == 500 && shapes[0].columns == 600));
  CHECK((shapes[3].rows == 125 && shapes[3].columns == 250));
  CHECK(shapes[0].weight == Approx(16. / 30));
  // Shapes that are cut to the same size are measured once.
  const auto capped = update_shapes(1000, 1, 1, 128, 100);
  REQUIRE(capped.size() == 1);
  CHECK(capped[0].weight == Approx(1));
  CHECK(update_shapes(std::numeric_limits<std::int64_t>::max(), 1, 1, 1, 8).size() == 1);
}

TEST_CASE("loops in registers do all of their work") {
  const Peaks& all = peaks();
  // Every sum converges to 1 from any start: each step reduces the distance by a quarter.
  CHECK(all.fp64.run(400) == Approx(static_cast<double>(all.fp64.operations_a_step) / 2));
  CHECK(all.fp32.run(400) == Approx(static_cast<double>(all.fp32.operations_a_step) / 2));
  CHECK(all.fp64.run(1) > all.fp64.run(2));
  const RegisterLoop bf16 = bf16_peak();
  if (bf16.operations_a_step > 0) {
    // Each lane adds 1 * 1 + 1/2 * 1/2 in a step.
    const double lanes = static_cast<double>(bf16.operations_a_step) / 4;
    CHECK(bf16.run(5) - bf16.run(1) == 4 * 1.25 * lanes);
  }
}

TEST_CASE("passes over memory touch every number") {
  std::vector<double> memory(3 * 1001);
  std::iota(memory.begin(), memory.end(), 0);
  peaks().triad(memory.data() + 1001, memory.data() + 2002, 2, memory.data(), 1001);
  for (const int i : {0, 1, 7, 500, 999, 1000})
    CHECK(memory[static_cast<std::size_t>(i)] == (1001. + i) + 2 * (2002. + i));
  std::vector<std::uint64_t> words(1000, 3);
  CHECK(peaks().sum_of_words(words.data(), 1000) == 3000);
  on_parts(words, 3, [](std::span<std::uint64_t> part) {
    for (std::uint64_t& word : part) ++word;
  });
  CHECK(std::accumulate(words.begin(), words.end(), std::uint64_t{0}) >= 3000 + 996);
  CHECK(*std::max_element(words.begin(), words.end()) == 4);
}

TEST_CASE("ceilings are work over the time of its fastest pass") {
  const test::CountingClock clock;  // every pass takes a second
  const double fp64 = register_rate(Precision::fp64, 1, 0, clock);
  const double steps = fp64 / static_cast<double>(peaks().fp64.operations_a_step);
  CHECK(steps >= 1e5);  // enough for the start and end of threads not to matter
  CHECK(register_rate(Precision::fp64, 3, 0, clock) == 3 * fp64);
  CHECK(register_rate(Precision::fp32, 1, 0, clock) ==
        steps * static_cast<double>(peaks().fp32.operations_a_step));
  CHECK(register_rate(Precision::bf16, 1, 0, clock) ==
        steps * static_cast<double>(bf16_peak().operations_a_step));
  CHECK(register_rate(Precision::fp16, 1, 0, clock) == 0);
  for (const MemoryPass pass : {MemoryPass::read, MemoryPass::triad})
    CHECK(memory_rate(pass, 1 << 20, 2, 0, clock) == 1 << 20);
}

TEST_CASE("a step in FP32 is twice as much work as one in FP64") {
  CHECK(peaks().fp32.operations_a_step == 2 * peaks().fp64.operations_a_step);
}

TEST_CASE("the rate over a run adds the times of its shapes") {
  const test::CountingClock clock;
  const auto device = make_device({.threads = 1});
  const auto shapes = update_shapes(64, 1, 1, 16, 1000);
  for (const Product product : {Product::update, Product::gemm}) {
    // Every product takes a second.
    double time = 0;
    for (const UpdateShape& s : shapes)
      time += s.weight / (2. * static_cast<double>(s.rows * s.columns * s.width));
    CHECK(product_rate(*device, product, Precision::fp32, shapes, 0, clock) == Approx(1 / time));
  }
}

TEST_CASE("products of any shape") {
  const test::CountingClock clock;  // every product takes a second
  const auto device = make_device({.threads = 1});
  for (const std::int64_t rows : {1, 5, 200})
    for (const std::int64_t columns : {1, 7, 300})
      for (const std::int64_t width : {1, 3, 100}) {
        ProductTrial trial(*device, Product::update, Precision::fp16, rows, columns, width);
        CHECK(trial.rate(clock, 0) == 2. * static_cast<double>(rows * columns * width));
      }
}

TEST_CASE("the fastest of several runs") {
  test::SetClock clock;
  const std::array<double, 4> times{3, 2, 4, 2.5};
  int runs = 0;
  const auto work = [&] { clock.time += times.at(static_cast<std::size_t>(runs++)); };
  CHECK(fastest(clock, 0, work) == 3);
  CHECK(runs == 1);
  runs = 0;
  CHECK(fastest(clock, 0, work, 3) == 2);
  CHECK(runs == 3);
  runs = 1;
  CHECK(fastest(clock, 7, work) == 2);  // the third begins after 6 seconds
  CHECK(runs == 4);
  CHECK(fastest(clock, 0, [] {}) > 0);
}

TEST_CASE("the machine's clock goes forward") {
  const SteadyClock clock;
  const double begin = clock.now();
  while (clock.now() == begin) {
  }
  CHECK(clock.now() > begin);
}
}  // namespace speedwell::test::ceilings_tests
