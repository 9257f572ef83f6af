// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>

#include "catch.hpp"
#include "element/rounding.hpp"

namespace speedwell::test::rounding_tests {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

/// `value` rounded to nearest, ties to even, in a format with `fraction` bits behind the leading
/// one, a smallest exponent `lowest`, and infinity from `overflow` on. Computed by an exact
/// division, std::nearbyint and an exact product in FP64.
double nearest(double value, int fraction, int lowest, double overflow) {
  if (value == 0 || std::isinf(value)) return value;
  const int exponent = std::max(std::ilogb(value), lowest);
  const double unit = std::ldexp(1.0, exponent - fraction);
  const double rounded = std::nearbyint(value / unit) * unit;
  return std::abs(rounded) >= overflow ? std::copysign(HUGE_VAL, rounded) : rounded;
}

double nearest_half(float value) {
  return nearest(value, 10, -14, 65536.0);
}
double nearest_bfloat16(float value) {
  return nearest(value, 7, -126, 0x1p128);
}

/// The value of a half by the definition of the format.
double half_value(std::uint16_t bits) {
  const int exponent = (bits >> 10) & 31;
  const int fraction = bits & 1023;
  const double sign = bits & 0x8000 ? -1 : 1;
  if (exponent == 31) return fraction == 0 ? sign * HUGE_VAL : std::nan("");
  if (exponent == 0) return sign * std::ldexp(fraction, -24);
  return sign * std::ldexp(1024 + fraction, exponent - 25);
}

bool same(double a, double b) {
  return a == b && std::signbit(a) == std::signbit(b);
}

/// Whether `value` is rounded correctly to FP16 and BF16, and as the compiler's own FP16 type, if
/// there is one, rounds it.
bool rounds_right(float value) {
  const Half half = to_half(value);
  const Bfloat16 bfloat = to_bfloat16(value);
  if (std::isnan(value))
    return std::isnan(half_value(half.bits)) && std::isnan(to_float(half)) &&
           std::isnan(to_float(bfloat));
#ifdef __ARM_FP16_FORMAT_IEEE
  if (!same(static_cast<float>(static_cast<__fp16>(value)), to_float(half))) return false;
#elif defined(__FLT16_MANT_DIG__)
  if (!same(static_cast<float>(static_cast<_Float16>(value)), to_float(half))) return false;
#endif
  return same(half_value(half.bits), nearest_half(value)) &&
         same(to_float(bfloat), nearest_bfloat16(value));
}

/// `value`, its neighbours on both sides, and the negatives of the three.
std::array<float, 6> around(float value) {
  const float above = std::nextafter(value, infinity);
  const float below = std::nextafter(value, -infinity);
  return {value, above, below, -value, -above, -below};
}

}  // namespace

TEST_CASE("every half converts to its value and back") {
  for (unsigned bits = 0; bits < 65536; ++bits) {
    const Half half{static_cast<std::uint16_t>(bits)};
    const double value = half_value(half.bits);
    INFO("half " << bits);
    if (std::isnan(value)) {
      REQUIRE(bits_of(to_float(half)) ==
              (((bits & 0x8000) << 16) | 0x7fc00000 | (bits & 0x3ff) << 13));
      REQUIRE(to_half(to_float(half)).bits == (bits | 0x200));
    } else {
      REQUIRE(same(to_float(half), value));
      REQUIRE(to_half(to_float(half)).bits == bits);
    }
  }
}

TEST_CASE("every bfloat16 converts to its value and back") {
  for (unsigned bits = 0; bits < 65536; ++bits) {
    const Bfloat16 bfloat{static_cast<std::uint16_t>(bits)};
    const float value = to_float(bfloat);
    INFO("bfloat16 " << bits);
    REQUIRE(bits_of(value) == bits << 16);
    REQUIRE(to_bfloat16(value).bits == (std::isnan(value) ? bits | 0x40 : bits));
  }
}

TEST_CASE("a sample of all floats rounds to the nearest, every exponent and tie among them") {
  // With a prime stride the sample has all exponents and all patterns of the lower bits.
  std::uint64_t wrong = 0;
  for (std::uint64_t x = 0; x < 1ull << 32; x += 1021)
    wrong += !rounds_right(float_of(static_cast<std::uint32_t>(x)));
  REQUIRE(wrong == 0);
}

TEST_CASE("ties go to even, and their neighbours to the nearest") {
  for (unsigned bits = 0; bits < 0x7c00; ++bits) {
    const double next = bits == 0x7bff ? 65536 : half_value(static_cast<std::uint16_t>(bits + 1));
    const auto tie = static_cast<float>((half_value(static_cast<std::uint16_t>(bits)) + next) / 2);
    INFO("half " << bits);
    REQUIRE(to_half(tie).bits == bits + (bits & 1));
    for (float value : around(tie)) REQUIRE(rounds_right(value));
  }
  for (std::uint32_t bits = 0; bits < 0x7f80; ++bits) {
    INFO("bfloat16 " << bits);
    const float tie = float_of((bits << 16) | 0x8000);
    REQUIRE(to_bfloat16(tie).bits == bits + (bits & 1));
    for (float value : around(tie)) REQUIRE(rounds_right(value));
  }
}

TEST_CASE("the largest and smallest numbers of the formats, and the values next to them") {
  CHECK(to_half(65504.0f).bits == 0x7bff);
  CHECK(to_half(65519.99f).bits == 0x7bff);
  CHECK(to_half(65520.0f).bits == 0x7c00);
  CHECK(to_half(-65520.0f).bits == 0xfc00);
  CHECK(to_half(std::numeric_limits<float>::max()).bits == 0x7c00);
  CHECK(to_half(infinity).bits == 0x7c00);
  CHECK(to_half(-infinity).bits == 0xfc00);
  CHECK(to_half(0x1p-14f).bits == 0x0400);
  CHECK(to_half(0x1.ff8p-15f).bits == 0x03ff);
  CHECK(to_half(std::nextafter(0x1p-14f, 0.0f)).bits == 0x0400);
  CHECK(to_half(0x1p-24f).bits == 1);
  CHECK(to_half(0x1p-25f).bits == 0);
  CHECK(to_half(std::nextafter(0x1p-25f, 1.0f)).bits == 1);
  CHECK(to_half(-0x1p-25f).bits == 0x8000);
  CHECK(to_half(0x1p-26f).bits == 0);
  CHECK(to_half(std::numeric_limits<float>::denorm_min()).bits == 0);
  CHECK(to_half(0.0f).bits == 0);
  CHECK(to_half(-0.0f).bits == 0x8000);
  CHECK(to_bfloat16(-0.0f).bits == 0x8000);
  CHECK(to_bfloat16(infinity).bits == 0x7f80);
  CHECK(to_bfloat16(std::numeric_limits<float>::max()).bits == 0x7f80);
  CHECK(to_bfloat16(float_of(0x00018000u)).bits == 2);
}

TEST_CASE("NaN stays a quiet NaN with its sign and the top of its payload") {
  for (std::uint32_t x : {0x7f800001u, 0x7fffffffu, 0x7fc00000u, 0xff800001u, 0xffffe000u}) {
    const auto sign = static_cast<std::uint16_t>((x >> 16) & 0x8000);
    CHECK(to_half(float_of(x)).bits == (sign | 0x7e00 | ((x >> 13) & 0x3ff)));
    CHECK(to_bfloat16(float_of(x)).bits == ((x >> 16) | 0x40));
  }
}

TEST_CASE("an FP16x3 number has 23 bits of an FP32 number") {
  const auto sum = [](HalfPair pair) {
    return static_cast<double>(to_float(pair.high)) +
           0x1p-11 * static_cast<double>(to_float(pair.low));
  };
  double most = 0;
  std::int64_t unlike = 0;  // numbers whose high part is not their nearest FP16 number
  for (std::uint32_t bits = bits_of(0x1p14f); bits < bits_of(0x1p15f); ++bits) {
    const float value = float_of(bits);
    const HalfPair pair = to_half_pair(value);
    unlike += pair.high.bits != to_half(value).bits;
    most = std::max(most, std::fabs(sum(pair) - static_cast<double>(value)) / 0x1p14);
  }
  CHECK(unlike == 0);
  CHECK(most == 0x1p-23);
  // Down to the smallest numbers, the error is no larger than 2^-36 where it exceeds 2^-23.
  for (int e = -60; e < 15; ++e)
    for (std::uint32_t fraction = 0; fraction < (1u << 23); fraction += 4099) {
      const float value = -float_of((static_cast<std::uint32_t>(e + 127) << 23) | fraction);
      const double error = std::fabs(sum(to_half_pair(value)) - static_cast<double>(value));
      const double size = std::fabs(static_cast<double>(value));
      REQUIRE(error <= std::max(0x1p-23 * size, 0x1p-36));
    }
  CHECK(sum(to_half_pair(0.0f)) == 0);
  CHECK(to_half_pair(-0.0f).high.bits == 0x8000);
}

TEST_CASE("roundings are constant expressions") {
  STATIC_REQUIRE(to_half_pair(4097.0f).high.bits == to_half(4096.0f).bits);
  STATIC_REQUIRE(to_half_pair(4097.0f).low.bits == to_half(2048.0f).bits);
  STATIC_REQUIRE(to_half(1.0f).bits == 0x3c00);
  STATIC_REQUIRE(to_float(Half{0x3c01}) == 1.0009765625f);
  STATIC_REQUIRE(to_bfloat16(1.0f).bits == 0x3f80);
  STATIC_REQUIRE(to_float(Bfloat16{0x3f80}) == 1.0f);
  STATIC_REQUIRE(power_of_two(-1022) == std::numeric_limits<double>::min());
  STATIC_REQUIRE(fp16_scale_exponent(1.0f) == 14);
}

TEST_CASE("powers of two are exact") {
  for (int e = -1022; e <= 1023; ++e) REQUIRE(power_of_two(e) == std::ldexp(1.0, e));
}

TEST_CASE("the scale of an FP16 panel is the largest that stays below 2^15") {
  CHECK(fp16_scale_exponent(0.0f) == 0);
  CHECK(fp16_scale_exponent(infinity) == 0);
  CHECK(fp16_scale_exponent(std::nanf("")) == 0);
  CHECK(fp16_scale_exponent(std::numeric_limits<float>::denorm_min()) == 120);
  CHECK(fp16_scale_exponent(-2.0f) == 13);
  for (int e = -126; e < 128; ++e)
    for (float largest : {std::ldexp(1.0f, e), std::ldexp(1.5f, e), std::ldexp(0x1.fffffep0f, e)}) {
      const int scale = fp16_scale_exponent(largest);
      INFO("largest " << largest << ", scale 2^" << scale);
      REQUIRE(scale >= -120);
      REQUIRE(scale <= 120);
      REQUIRE(largest * std::ldexp(1.0, scale) < 0x1p15);
      REQUIRE((scale == 120 || largest * std::ldexp(1.0, scale + 1) >= 0x1p15));
    }
}
}  // namespace speedwell::test::rounding_tests
