// SPDX-License-Identifier: BSD-3-Clause
// Products of the CPU device in parts, between which an interrupt is asked.
#include <vector>

#include "catch.hpp"
#include "clocks.hpp"
#include "core/run_context.hpp"
#include "device/cpu/product_parts.hpp"
#include "device/device.hpp"

namespace speedwell::test::product_parts_tests {
namespace {

/// Small integers, so that sums are exact in any order.
std::vector<double> integers(std::int64_t rows, std::int64_t columns) {
  std::vector<double> all(static_cast<std::size_t>(rows * columns));
  for (std::size_t i = 0; i < all.size(); ++i)
    all[i] = static_cast<double>((i * 7 + i / 3) % 11) - 5;
  return all;
}

MatrixView<double> view(std::vector<double>& values, std::int64_t rows) {
  return {values.data(), rows, std::ssize(values) / rows, rows};
}

}  // namespace

TEST_CASE("a product in parts is that in one part") {
  const std::int64_t m = 20000;  // more rows than a part has
  const std::int64_t n = 12;     // so many columns are a product of matrices
  const std::int64_t k = 30;
  const auto transpose = GENERATE(Transpose::no, Transpose::yes);
  REQUIRE(update_parts(m, n, k, 1, true).rows < m);
  const test::SetClock clock;
  int asked = 0;
  Interrupt interrupt([&] { return ++asked < 0; }, clock);
  const RunContext run(clock, nullptr, {.interrupt = &interrupt});
  const auto device = make_device({});
  const auto ending = make_device({.run = run});
  const auto queue = device->make_queue(Priority::normal);
  const bool transposed = transpose == Transpose::yes;
  std::vector<double> a = integers(m, k);
  std::vector<double> x = integers(k, n);
  std::vector<double> whole = integers(m, n);
  std::vector<double> in_parts = whole;
  const std::int64_t a_rows = transposed ? k : m;
  device->subtract_product(*queue, transpose, view(a, a_rows), view(x, k), view(whole, m));
  interrupt.begin();
  ending->subtract_product(*queue, transpose, view(a, a_rows), view(x, k), view(in_parts, m));
  CHECK(asked == 1);
  CHECK((in_parts == whole));
  CHECK((whole != integers(m, n)));
}

TEST_CASE("an update in parts is that in one part, and does nothing once it is to end") {
  const std::int64_t m = 17000;
  const std::int64_t n = 600;
  const std::int64_t k = 16;
  const test::SetClock clock;
  Interrupt interrupt({}, clock);
  const RunContext run(clock, nullptr, {.interrupt = &interrupt});
  const auto device = make_device({});
  const auto ending = make_device({.run = run});
  const auto queue = device->make_queue(Priority::normal);
  std::vector<double> l = integers(m, k);
  std::vector<double> u = integers(k, n);
  std::vector<double> whole = integers(m, n);
  std::vector<double> in_parts = whole;
  const PanelControl one;
  const auto update_on = [&](Device& on, std::vector<double>& c) {
    on.update(*queue, view(l, m), &one, view(u, k), &one, view(c, m), {});
  };
  update_on(*device, whole);
  interrupt.begin();
  update_on(*ending, in_parts);
  CHECK((in_parts == whole));
  interrupt.end();
  update_on(*ending, in_parts);
  CHECK((in_parts == whole));
}

TEST_CASE("the parts of a product take little time") {
  const auto operations = [](std::int64_t m, std::int64_t n, std::int64_t k, int threads) {
    const UpdateParts parts = update_parts(m, n, k, threads, true);
    return 2. * static_cast<double>(std::min(parts.rows, m)) *
           static_cast<double>(std::min(parts.columns, n)) * static_cast<double>(k) / threads;
  };
  for (const int threads : {1, 2, 16})
    for (const std::int64_t m : {40000, 180000})
      for (const std::int64_t n : {1, 300, 512, 40000})
        for (const std::int64_t k : {512, 2048, 40000}) {
          CAPTURE(threads, m, n, k);
          CHECK(operations(m, n, k, threads) <= 2.2e10);
        }
  CHECK(update_parts(40000, 300, 40000, 2, false).rows == 40000);
  CHECK(update_parts(40000, 300, 40000, 2, false).columns == 300);
}
}  // namespace speedwell::test::product_parts_tests
