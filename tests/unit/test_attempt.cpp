// SPDX-License-Identifier: BSD-3-Clause
#include <limits>

#include "catch.hpp"
#include "core/numbers.hpp"
#include "solve/attempt.hpp"
#include "solve/sample.hpp"

namespace speedwell::test::attempt_tests {
namespace {

/// The rates of a machine, as multiples of that of FP64. fp16x3 = 0: not measured.
Rates rates(double bf16, double fp16, double fp32, double fp16x3 = 0) {
  constexpr double fp64 = 1e11;
  const auto rate = [](Precision p, double flops) {
    return Rate{p, flops, RateOrigin::measured, ""};
  };
  std::vector<Rate> all{rate(Precision::bf16, bf16 * fp64), rate(Precision::fp16, fp16 * fp64),
                        rate(Precision::fp32, fp32 * fp64), rate(Precision::fp64, fp64)};
  if (fp16x3 > 0) all.push_back(rate(Precision::fp16x3, fp16x3 * fp64));
  return Rates(std::move(all));
}

std::vector<Precision> steps(const LuPlan& lu, const Rates& rates,
                             Precision first = Precision::automatic) {
  std::vector<Precision> all;
  for (const Attempt& step : worthwhile_attempts(lu, rates, first)) {
    CHECK(step.seconds == lu_seconds(lu, step.precision, rates));
    all.push_back(step.precision);
  }
  return all;
}

constexpr Precision bf16 = Precision::bf16;
constexpr Precision fp16 = Precision::fp16;
constexpr Precision fp16x3 = Precision::fp16x3;
constexpr Precision fp32 = Precision::fp32;
constexpr Precision fp64 = Precision::fp64;
const LuPlan large{.n = 20000, .nb = 512};
using List = std::vector<Precision>;

}  // namespace

TEST_CASE("a step is planned where its LU takes at most 0.6 of the next one's time, 16 bits 0.95") {
  CHECK(steps(large, rates(8, 2, 2)) == List{bf16, fp32, fp64});
  CHECK(steps(large, rates(2, 8, 2)) == List{fp16, fp32, fp64});
  CHECK(steps(large, rates(2, 2, 2)) == List{fp32, fp64});  // 16 bits are not faster
  CHECK(steps(large, rates(1, 1, 1)) == List{fp64});        // nothing is faster
  CHECK(steps(large, rates(2.2, 2, 2)) == List{bf16, fp32, fp64});
  CHECK(steps(large, rates(2, 2, 1.6)) == List{fp16, fp64});        // FP32's 0.63 is too much
  CHECK(steps(large, rates(16, 16, 1)) == List{fp16, fp64});        // FP32 is no faster than FP64
  CHECK(steps(large, rates(0.5, 1.9, 2)) == List{fp32, fp64});      // slow instructions
  CHECK(steps(large, rates(8.1, 8, 2)) == List{fp16, fp32, fp64});  // nearly equal: more accurate
}

TEST_CASE("the step between 16 bits and FP64 is the faster one of FP32 and FP16x3") {
  CHECK(steps(large, rates(14, 14, 1, 4.6)) == List{fp16, fp16x3, fp64});  // as on an H200
  CHECK(steps(large, rates(14, 14, 2, 4.6)) == List{fp16, fp16x3, fp64});
  CHECK(steps(large, rates(14, 14, 4.6, 4.6)) == List{fp16, fp32, fp64});  // more accurate
  CHECK(steps(large, rates(14, 14, 4.5, 4.6)) == List{fp16, fp32, fp64});  // nearly equal
  CHECK(steps(large, rates(8, 2, 2, 0.6)) == List{bf16, fp32, fp64});
  CHECK(steps(large, rates(3, 3, 1, 1)) == List{fp16, fp64});      // no faster than FP64
  CHECK(steps(large, rates(4, 4, 1, 3.9)) == List{fp16x3, fp64});  // 16 bits are hardly faster
  CHECK(steps(large, rates(14, 14, 1, 1.6)) == List{fp16, fp64});  // 0.6 of FP64's time
}

TEST_CASE("the panels count in the prediction unless they are factored beside the updates") {
  LuPlan small{.n = 1000, .nb = 500};
  const double n = 1000;
  CHECK(lu_seconds(small, fp64, rates(8, 2, 2)) ==
        Approx((2. / 3 * n * n * n + 4 * n * n * 250) / 1e11));
  // Panels of FP32 take most of the time, whatever the rate of the update is.
  CHECK(steps(small, rates(2.2, 2, 2)) == List{fp32, fp64});
  small.overlaps = true;
  CHECK(lu_seconds(small, bf16, rates(8, 2, 2)) == Approx(2. / 3 * n * n * n / 8e11));
  CHECK(steps(small, rates(2.2, 2, 2)) == List{bf16, fp32, fp64});
  // The ranks of one process column factor a panel.
  const LuPlan wide{.n = 1000, .nb = 500, .grid = {1, 2}};
  CHECK(lu_seconds(wide, fp64, rates(8, 2, 2)) ==
        Approx((2. / 3 * n * n * n + 2 * 4 * n * n * 250) / 1e11));
}

TEST_CASE("a first step that the user names is planned whatever it costs") {
  for (const Precision first : {bf16, fp16}) {
    CHECK(steps(large, rates(1, 1, 2), first) == List{first, fp32, fp64});
    CHECK(steps(large, rates(1, 1, 1), first) == List{first, fp64});
  }
  CHECK(steps(large, rates(8, 8, 2), fp32) == List{fp32, fp64});
  CHECK(steps(large, rates(8, 8, 1), fp32) == List{fp32, fp64});
  CHECK(steps(large, rates(8, 8, 2), fp64) == List{fp64});
  // FP32 and FP16x3 are nearly as accurate: one does not follow the other.
  CHECK(steps(large, rates(8, 8, 2, 0.6), fp16x3) == List{fp16x3, fp64});
  CHECK(steps(large, rates(8, 8, 1, 4), fp16x3) == List{fp16x3, fp64});
  CHECK(steps(large, rates(8, 8, 1, 4), fp32) == List{fp32, fp64});
  CHECK(steps(large, rates(9, 8, 1, 4), bf16) == List{bf16, fp16x3, fp64});
}

TEST_CASE("a condition number tells which factors are hopeless") {
  CHECK_FALSE(is_hopeless(bf16, 1e3));
  CHECK(is_hopeless(bf16, 1e6));
  CHECK_FALSE(is_hopeless(fp32, 1e6));
  CHECK(is_hopeless(fp32, 1e12));
  CHECK_FALSE(is_hopeless(fp16x3, 2e8));  // 50 times 2^22
  CHECK(is_hopeless(fp16x3, 2.2e8));
  CHECK_FALSE(is_hopeless(fp32, 2.2e8));
  CHECK_FALSE(is_hopeless(fp64, 1e12));
  for (const Precision p : {bf16, fp16, fp32}) CHECK_FALSE(is_hopeless(p, unknown));
}

TEST_CASE("a sample is small beside its matrix") {
  CHECK(sample_order(1) == 0);
  CHECK(sample_order(400) == 0);
  CHECK(sample_order(4000) == 500);
  CHECK(sample_order(std::numeric_limits<std::int64_t>::max()) == 1024);
}

TEST_CASE("right-hand sides refined together have room in as much memory as A and 64 MB") {
  CHECK(refining_bytes(3000, 1000) == 320e3);
  CHECK(most_refined(4000, 4000) == 300);  // (128 MB + 64 MB) / 640 kB
  CHECK(most_refined(20000, 20000) == 512);
  CHECK(most_refined(45, 45) == 512);
  CHECK(most_refined(0, 0) == 512);  // a rank without a part of A
  CHECK(most_refined(1000000000, 0) == 1);
}

namespace {

const LuPlan medium{.n = 4000, .nb = 512};

/// The precisions of the steps that pay for so many right-hand sides.
List paying(const Rates& rates, std::int64_t count, double condition = unknown,
            Precision first = Precision::automatic) {
  List all;
  for (const Attempt& step : attempts_worth_making(worthwhile_attempts(medium, rates, first),
                                                   medium, rates, count, condition))
    all.push_back(step.precision);
  return all;
}

}  // namespace

TEST_CASE("a refinement takes as many corrections as its factors lack bits") {
  const Rates some = rates(8, 8, 2.4);
  const double one = 2. * 4000 * 4000 / 1e11;  // a solve, or a residual, in FP64
  const auto seconds = [&](Precision p, std::int64_t count, double condition) {
    return refine_seconds(medium, p, some, count, condition);
  };
  const double many = one / 0.45;  // of many vectors, which pass through memory too
  CHECK(seconds(fp64, 70, 1e12) == Approx(70 * many));
  const double correction = 20 * many * (1 + 1 / 2.4);
  const auto corrections = [&](Precision p, double condition) {
    return seconds(p, 20, condition) / correction;
  };
  // FP32 has 24 bits, of which an LU loses 4, and more from a condition number of 256 on.
  CHECK(corrections(fp32, unknown) == Approx(3));
  CHECK(corrections(fp32, 256) == Approx(3));
  CHECK(corrections(fp32, 0x1p16) == Approx(5));   // 12 bits each
  CHECK(corrections(fp32, 0x1p30) == Approx(53));  // a bit each at most
  CHECK(corrections(fp16, unknown) == Approx(6));  // 10 of 11 bits each
  CHECK(corrections(bf16, unknown) == Approx(8));  // 7 of 8 bits each
  CHECK(corrections(bf16, 512) == Approx(8));
  CHECK(corrections(bf16, 2048) == Approx(11));  // 5 bits each
  for (const double low : {1., 100., 255.}) CHECK(corrections(fp32, low) == Approx(3));
  for (double condition = 1e3; condition < 1e9; condition *= 4)
    CHECK(corrections(fp32, 4 * condition) >= corrections(fp32, condition));
  // A few right-hand sides read A and its factors, and take as long as one.
  for (const std::int64_t count : {1, 8}) {
    CHECK(seconds(fp64, count, unknown) == Approx(20 * one));
    CHECK(seconds(bf16, count, unknown) == Approx(8 * 1.5 * 20 * one));
  }
}

TEST_CASE("16 bits that are somewhat faster pay where a sample says that they will solve") {
  // A processor whose BF16 products run at 1.8 times the rate of FP32 ones, which are twice as fast
  // as FP64's.
  const Rates cpu = rates(3.6, 1, 2);
  const auto first_of = [&](double condition, std::int64_t n, std::int64_t count = 1) {
    const LuPlan lu{.n = n, .nb = 512};
    return attempts_worth_making(worthwhile_attempts(lu, cpu, Precision::automatic), lu, cpu, count,
                                 condition)
        .front()
        .precision;
  };
  CHECK(first_of(200, 10000) == bf16);
  CHECK(first_of(200, 10000, 8) == bf16);
  CHECK(first_of(unknown, 10000) == fp32);  // no sample
  CHECK(first_of(2e3, 10000) == fp32);      // more corrections, and may fail
  CHECK(first_of(200, 2000) == fp32);       // corrections take longer than the LU saves
  // An LU of 0.6 of the next one's time is tried without a sample, and whatever it says.
  const Rates fast = rates(16, 2, 2);
  const LuPlan lu{.n = 10000, .nb = 512, .overlaps = true};
  for (const double condition : {unknown, 1e3})
    CHECK(attempts_worth_making(worthwhile_attempts(lu, fast, Precision::automatic), lu, fast, 1,
                                condition)
              .front()
              .precision == bf16);
}

TEST_CASE("steps of low precision pay for a few right-hand sides and not for many") {
  const Rates cpu = rates(1, 1, 2.4);
  for (std::int64_t count = 1; count <= 50; ++count) CHECK(paying(cpu, count) == List{fp32, fp64});
  CHECK(paying(cpu, 4000) == List{fp64});
  // A step pays for fewer right-hand sides the higher the condition number is.
  const auto most = [&](double condition) {
    std::int64_t count = 1;
    while (paying(cpu, count + 1, condition) != List{fp64}) ++count;
    return count;
  };
  CHECK(most(1e6) < most(1e4));
  CHECK(most(1e4) < most(unknown));
  // Where LU and refinement take as long as those of the next step, within one right-hand side.
  const std::int64_t last = most(unknown);
  const auto seconds = [&](Precision p, std::int64_t count) {
    return lu_seconds(medium, p, cpu) + refine_seconds(medium, p, cpu, count, unknown);
  };
  CHECK(seconds(fp32, last) <= seconds(fp64, last));
  CHECK(seconds(fp32, last + 1) > seconds(fp64, last + 1));
  // A 16-bit step that does not pay is left out before FP32.
  const Rates gpu = rates(8, 2, 2);
  const LuPlan overlapped{.n = 4000, .nb = 512, .overlaps = true};
  const auto first_of = [&](std::int64_t count) {
    return attempts_worth_making(worthwhile_attempts(overlapped, gpu, Precision::automatic),
                                 overlapped, gpu, count, unknown)
        .front()
        .precision;
  };
  CHECK(first_of(1) == bf16);
  CHECK(first_of(50) == fp32);
  CHECK(first_of(1000) == fp64);
}

TEST_CASE("one step always stays") {
  CHECK(paying(rates(1, 1, 1), 1 << 30) == List{fp64});
  for (const Precision p : {bf16, fp16, fp32, fp64}) {
    const std::vector<Attempt> one{{p, 0}};
    CHECK(attempts_worth_making(one, medium, rates(8, 8, 2), 1 << 30, 1e15) == one);
  }
}
}  // namespace speedwell::test::attempt_tests
