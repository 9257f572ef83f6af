// SPDX-License-Identifier: BSD-3-Clause
#include "catch.hpp"
#include "factor/pace.hpp"

namespace lupine::test::pace_tests {
namespace {

constexpr double column = 1e-6;
constexpr std::int64_t many = 1000000;

}  // namespace

TEST_CASE("a panel gets the smallest part of a device that suffices") {
  // With 1/32 of the device a panel of 1 ms takes 32 ms, in which the rest of it updates 31000
  // columns.
  const PanelTime panel{1e-3, 1};
  CHECK(forecast(panel, column, many).part == 1. / 32);
  CHECK(forecast(panel, column, many).columns == 31232);
  CHECK(forecast(panel, column, 31010).part == 1. / 32);
  CHECK(forecast(panel, column, 30990).part == 1. / 16);
  CHECK(forecast(panel, column, 30990).columns == 15360);
  CHECK(forecast(panel, column, 1010).part == 1. / 2);
  CHECK(forecast(panel, column, 1010).columns == 1024);
}

TEST_CASE("a panel without updates that hide it gets the whole device") {
  for (const std::int64_t columns : {0, 1, 999}) {
    CHECK(forecast({1e-3, 1}, column, columns).part == 0);
    CHECK(forecast({1e-3, 1}, column, columns).columns == 0);
  }
}

TEST_CASE("the forecast scales with the part with which a panel was measured") {
  const Beside whole = forecast({1e-3, 1}, column, many);
  const Beside small = forecast({16e-3, 1. / 16}, column, many);
  CHECK(small.part == whole.part);
  CHECK(small.columns == whole.columns);
  CHECK(forecast({1e-3, 1. / 16}, column, many).columns == 2048);
}
}  // namespace lupine::test::pace_tests
