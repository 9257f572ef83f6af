// SPDX-License-Identifier: BSD-3-Clause
#include <cstdint>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "factor/pace.hpp"

namespace speedwell::test::pace_tests {
namespace {

constexpr double column = 1e-6;
constexpr std::int64_t many = 1000000;

PanelLaw law(const std::vector<PanelTime>& measured) {
  PanelLaw found;
  for (const PanelTime& one : measured) found.add(one);
  return found;
}

}  // namespace

TEST_CASE("a panel gets the smallest part of a device that suffices") {
  // With 1/32 of the device a panel of 1.1 ms takes 32.1 ms, in which the rest of it updates 31097
  // columns.
  const PanelLaw panel = law({{1.1e-3, 1}, {2.1e-3, 0.5}});
  CHECK(forecast(panel, column, many).part == 1. / 32);
  CHECK(forecast(panel, column, many).columns == 31232);
  CHECK(forecast(panel, column, 31110).part == 1. / 32);
  CHECK(forecast(panel, column, 30900).part == 1. / 16);
  CHECK(forecast(panel, column, 15110).part == 1. / 16);
  CHECK(forecast(panel, column, 15110).columns == 15110);
  CHECK(forecast(panel, column, 3110).part == 1. / 4);
}

TEST_CASE("a panel without updates that hide it gets the whole device") {
  const PanelLaw panel = law({{1.1e-3, 1}, {2.1e-3, 0.5}});
  for (const std::int64_t columns : {0, 1, 900}) {
    CHECK(forecast(panel, column, columns).part == 0);
    CHECK(forecast(panel, column, columns).columns == 0);
  }
}

TEST_CASE("a chain of dependent steps takes as long with more of the device") {
  // 5 ms, and 0.5 ms of work for the whole device, at any two parts.
  const auto seconds = [](double part) { return 5e-3 + 0.5e-3 / part; };
  for (const auto& [first, second] :
       std::vector<std::pair<double, double>>{{1. / 32, 1. / 8}, {1, 1. / 4}, {1. / 2, 1. / 32}}) {
    CAPTURE(first, second);
    const PanelLaw panel = law({{seconds(first), first}, {seconds(second), second}});
    for (const double part : {1. / 32, 1. / 16, 1. / 2, 1.})
      CHECK(panel.seconds(part) == Approx(seconds(part)));
    // Beside updates of 3 ms it decides when the step ends, with any part; 12 ms hide the 13 ms
    // that it takes with 1/16 nearly as well as the 9 ms with 1/8, and leave more to the updates.
    CHECK(forecast(panel, column, 3000).part == 1. / 2);
    CHECK(forecast(panel, column, 12000).part == 1. / 16);
    CHECK(forecast(panel, column, many).part == 1. / 32);
  }
}

TEST_CASE("a panel that hides nothing has the device alone only where that is faster") {
  // A chain of 5 ms: beside updates of 1 ms it hides them, whatever it has.
  CHECK(forecast(law({{5e-3, 1. / 32}, {5e-3, 1. / 8}}), column, 1000).part == 1. / 32);
}

TEST_CASE("with one part measured, no panel is forecast to be faster than it was") {
  const PanelLaw panel = law({{7e-3, 1. / 16}});
  for (const double part : {1. / 16, 1. / 8, 1.}) CHECK(panel.seconds(part) == 7e-3);
  CHECK(panel.seconds(1. / 32) == Approx(14e-3));
}

TEST_CASE("times that no law has make no panel faster with less of the device") {
  const PanelLaw slower_with_more = law({{1e-3, 1. / 32}, {2e-3, 1. / 8}});
  CHECK(slower_with_more.seconds(1. / 32) == 2e-3);
  const PanelLaw too_fast_with_more = law({{9e-3, 1. / 32}, {1e-3, 1. / 8}});
  CHECK(too_fast_with_more.seconds(1) == Approx(1e-3 / 8));
  CHECK(too_fast_with_more.seconds(1. / 32) == Approx(4e-3));
}
}  // namespace speedwell::test::pace_tests
