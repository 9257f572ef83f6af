// SPDX-License-Identifier: BSD-3-Clause
// The rates that bound every solver, and the clock that measures them.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "bench/memory_passes.hpp"
#include "catch.hpp"
#include "clocks.hpp"
#include "compare/ceilings.hpp"
#include "core/fastest.hpp"
#include "cpu/loops.hpp"

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

TEST_CASE("passes over memory touch every number") {
  std::vector<double> memory(3 * 1001);
  std::iota(memory.begin(), memory.end(), 0);
  loops().triad(memory.data() + 1001, memory.data() + 2002, 2, memory.data(), 1001);
  for (const int i : {0, 1, 7, 500, 999, 1000})
    CHECK(memory[static_cast<std::size_t>(i)] == (1001. + i) + 2 * (2002. + i));
  std::vector<std::uint64_t> words(1000, 3);
  CHECK(loops().sum_of_words(words.data(), 1000) == 3000);
  on_parts(words, 3, [](std::span<std::uint64_t> part) {
    for (std::uint64_t& word : part) ++word;
  });
  CHECK(std::accumulate(words.begin(), words.end(), std::uint64_t{0}) >= 3000 + 996);
  CHECK(*std::max_element(words.begin(), words.end()) == 4);
}

TEST_CASE("the rate of memory is the bytes over the time of the fastest pass") {
  const test::CountingClock clock;  // every pass takes a second
  for (const MemoryPass pass : {MemoryPass::read, MemoryPass::triad})
    CHECK(memory_rate(pass, 1 << 20, 2, 0, clock) == 1 << 20);
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
