// SPDX-License-Identifier: BSD-3-Clause
#include "catch.hpp"
#include "setup/rates.hpp"

namespace speedwell::test::rates_tests {
namespace {

Rates rates(double bf16, double fp16, double fp32, RateOrigin origin = RateOrigin::measured,
            const std::string& date = "") {
  return Rates({{Precision::bf16, bf16 * 1e9, origin, date},
                {Precision::fp16, fp16 * 1e9, origin, date},
                {Precision::fp32, fp32 * 1e9, origin, date}});
}

}  // namespace

TEST_CASE("the fastest precision is chosen, and of equal ones the most accurate") {
  CHECK(rates(800, 300, 305).fastest() == Precision::bf16);
  CHECK(rates(162, 304, 250).fastest() == Precision::fp16);
  CHECK(rates(162, 304, 307).fastest() == Precision::fp32);
  CHECK(rates(162, 309, 301).fastest() == Precision::fp32);  // within 3 percent
  CHECK(rates(162, 312, 301).fastest() == Precision::fp16);
  CHECK(rates(312, 309, 301).fastest() == Precision::fp16);
  CHECK(rates(1, 1, 1).fastest() == Precision::fp32);
}

TEST_CASE("a benchmark's precision is chosen by updates and corrections together") {
  // One correction more takes 0.8 % at n = 184320, and 7.5 % at n = 20000.
  const auto on_gpu = [](double bf16, double fp16, std::int64_t n) {
    return rates(bf16, fp16, 50).fastest_benchmark(DeviceKind::cuda, n);
  };
  for (const double faster : {1.027, 1.035}) {  // measured by two trials on one H200
    CAPTURE(faster);
    CHECK(on_gpu(616 * faster, 616, 184320) == Precision::bf16);
    CHECK(on_gpu(616 * faster, 616, 60000) == Precision::fp16);
    CHECK(on_gpu(616 * faster, 616, 20000) == Precision::fp16);
  }
  CHECK(on_gpu(700, 616, 20000) == Precision::bf16);
  CHECK(rates(1, 1, 1).fastest_benchmark(DeviceKind::cuda, 1) == Precision::fp32);
  CHECK(rates(162, 309, 301).fastest_benchmark(DeviceKind::cpu, 20000) == Precision::fp32);
  CHECK(rates(800, 300, 305).fastest_benchmark(DeviceKind::cpu, 2000) == Precision::bf16);
}

TEST_CASE("a choice is explained by the rates") {
  CHECK(rates(162, 304, 307).text(Precision::fp16) == "304 GFLOP/s; bf16 162, fp32 307 (measured)");
  CHECK(rates(16.23, 304, 307).text(Precision::fp32) ==
        "307 GFLOP/s; bf16 16.2, fp16 304 (measured)");
  CHECK(
      rates(162, 304, 307, RateOrigin::remembered, "2026-11-22T10:00:00Z").text(Precision::fp16) ==
      "304 GFLOP/s; bf16 162, fp32 307 (measured 2026-11-22)");
  CHECK(rates(1, 1, 1, RateOrigin::assumed).text(Precision::fp32) ==
        "N is too small to measure rates");
  CHECK(Rates().text(Precision::fp32).empty());
  CHECK(rates(162, 304, 307).of(Precision::fp64) == 0);
}
}  // namespace speedwell::test::rates_tests
