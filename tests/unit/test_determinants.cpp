// SPDX-License-Identifier: BSD-3-Clause
// Products of pivots, determinants that are exactly zero, and those of stacks.
#include <array>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <numbers>
#include <vector>

#include "catch.hpp"
#include "core/numbers.hpp"
#include "core/random.hpp"
#include "solve/pivot_product.hpp"
#include "solve/stack_determinants.hpp"
#include "solve/zero_determinant.hpp"

namespace speedwell::test::determinants_tests {
namespace {

using Complex = std::complex<double>;

constexpr double infinity = std::numeric_limits<double>::infinity();

/// A matrix of order n by rows, a stack of one.
template <class T>
StackDeterminant only(const std::vector<T>& a) {
  const auto n = static_cast<std::int64_t>(std::sqrt(static_cast<double>(a.size())));
  StackDeterminant result;
  stack_determinants<T>(a.data(), 1, n, 1,
                        [&](std::int64_t /*k*/, const StackDeterminant& one) { result = one; });
  return result;
}

template <class T>
bool is_zero(const std::vector<T>& a) {
  const auto n = static_cast<std::int64_t>(std::sqrt(static_cast<double>(a.size())));
  return ZeroTest().is_zero(MatrixView<const T>{a.data(), n, n, n});
}

}  // namespace

TEST_CASE("products of pivots are exact for powers of two, also beyond FP64's range",
          "[determinant]") {
  PivotProduct product;
  CHECK(product.log_magnitude() == 0);
  CHECK(product.sign() == Complex(1));
  for (int k = 0; k < 3000; ++k) product.multiply(k % 3 == 0 ? -0x1p1000 : 0x1p-1074);
  CHECK(product.mantissa() == Complex(0.5));
  CHECK(product.exponent() == 1000 * 1000 - 2000 * 1074 + 1);
  CHECK(product.log_magnitude() == Approx(-1148000 * std::numbers::ln2).epsilon(2 * eps));
  product.scale(1148000);
  CHECK(product.log_magnitude() == 0);
  product.multiply(Complex(0, 0x1p-1000));
  CHECK(product.sign() == Complex(0, 1));
  product.multiply(0.0);
  CHECK(product.sign() == Complex(0));
  CHECK(product.log_magnitude() == -infinity);
}

TEST_CASE("products of pivots lose less than their factors' roundings", "[determinant]") {
  PivotProduct product;
  PivotProduct of_complex;
  long double expected = 0;
  const int count = 1000;
  for (int k = 0; k < count; ++k) {
    const double factor = 1 + symmetric_number(random_bits(1, static_cast<std::uint64_t>(k))) / 2;
    product.multiply(factor);
    of_complex.multiply(factor * Complex(0.6, 0.8));
    expected += std::log(static_cast<long double>(factor));
  }
  const auto logarithm = static_cast<double>(expected);
  CHECK(std::fabs(product.log_magnitude() - logarithm) < count * eps);
  CHECK(std::fabs(of_complex.log_magnitude() - logarithm) < 3 * count * eps);
  CHECK(std::abs(of_complex.sign() - std::polar(1., count * std::atan2(0.8, 0.6))) < 1e-12);
  // Near 1 the logarithm has all digits, too.
  PivotProduct near;
  near.multiply(1 + 0x1p-40);
  CHECK(near.log_magnitude() == Approx(std::log1p(0x1p-40)).epsilon(2 * eps).margin(0));
  near.multiply((1 - 0x1p-30) / (1 + 0x1p-40));
  CHECK(near.log_magnitude() == Approx(std::log1p(-0x1p-30)).epsilon(0x1p-22).margin(0));
}

TEST_CASE("a determinant is exactly zero or not", "[determinant]") {
  CHECK(is_zero<double>({0}));
  CHECK_FALSE(is_zero<double>({5e-324}));
  CHECK(is_zero<double>({1, 2, 3, 4, 5, 6, 7, 8, 9}));
  CHECK_FALSE(is_zero<double>({1, 2, 3, 4, 5, 6, 7, 8, 9 + 0x1p-49}));
  CHECK_FALSE(is_zero<double>({3, 1, 1, 1. / 3}));
  CHECK(is_zero<double>({0x1p1000, 0x1p-1000, 3 * 0x1p950, 3 * 0x1p-1050}));
  CHECK(is_zero<double>({0x1p1000, 0x1p-74, 0x1p0, 0x1p-1074}));
  CHECK_FALSE(is_zero<double>({0x1p1000, 0x1p-74, 0x1p0, 0x1p-1073}));
  CHECK_FALSE(is_zero<double>({0x1p31, 1, 1, 0x1p30}));  // 2^61 - 1, a prime
  CHECK(is_zero<Complex>({1, Complex(0, 1), Complex(0, 1), -1}));
  CHECK_FALSE(is_zero<Complex>({1, Complex(0, 1), Complex(0, -1), -1}));
  CHECK(is_zero<Complex>({Complex(1, 2), Complex(3, 4), Complex(2, 4), Complex(6, 8)}));
  for (const std::int64_t n : {2, 33, 120}) {
    const auto order = static_cast<std::size_t>(n);
    std::vector<double> a(order * order);
    for (std::size_t i = 0; i < a.size(); ++i) a[i] = symmetric_number(random_bits(2, i));
    CHECK_FALSE(is_zero(a));
    for (std::size_t i = 0; i < order; ++i) a[i * order + order - 1] = -4 * a[i * order];
    CHECK(is_zero(a));
  }
}

TEST_CASE("determinants of stacks are found or left to others", "[determinant]") {
  CHECK(only<double>({2, 0, 0, -3}).sign == Complex(-1));
  CHECK(only<double>({2, 0, 0, -3}).log_magnitude == Approx(std::log(6.)).epsilon(2 * eps));
  CHECK(only<double>({0, 1, 1, 0}).mantissa == Complex(-0.5));
  CHECK(only<double>({1, 1, 1, 1}).log_magnitude == -infinity);
  CHECK(only<double>({0}).sign == Complex(0));
  CHECK(only<Complex>({Complex(0, 8)}).sign == Complex(0, 1));
  CHECK(only<Complex>({Complex(0, 8)}).exponent == 4);
  for (const double bad : {infinity, -infinity, unknown}) {
    CHECK(std::isnan(only<double>({1, 2, 3, bad}).log_magnitude));
    CHECK(std::isnan(only<Complex>({1, 2, 3, Complex(1, bad)}).log_magnitude));
    CHECK(std::isnan(only<Complex>({Complex(bad, 1), 2, 3, 4}).log_magnitude));
  }
  // In doubt, with scales that differ, and of numbers near the ends of FP64's range.
  CHECK(std::isnan(only<double>({3, 1, 1, 1. / 3}).log_magnitude));
  CHECK(std::isnan(only<double>({1, 0, 0, 1e-20}).log_magnitude));
  CHECK(std::isnan(only<double>({1e200, 0, 0, 1e200}).log_magnitude));
  // Wilkinson's matrix: its entries grow by 2^69.
  std::vector<double> grown(70UL * 70);
  for (std::size_t i = 0; i < 70; ++i)
    for (std::size_t j = 0; j < 70; ++j) grown[i + j * 70] = i == j || j == 69 ? 1 : i > j ? -1 : 0;
  CHECK(std::isnan(only(grown).log_magnitude));
}

TEST_CASE("large stacks are divided among threads", "[determinant]") {
  constexpr std::int64_t count = 20'000;
  std::vector<double> a(4UL * count);
  for (std::size_t k = 0; k < count; ++k) {
    a[4 * k] = static_cast<double>(k + 1);
    a[4 * k + 3] = 1;
  }
  for (const int threads : {1, 3}) {
    std::vector<double> found(count);
    stack_determinants<double>(
        a.data(), count, 2, threads, [&](std::int64_t k, const StackDeterminant& one) {
          found[static_cast<std::size_t>(k)] =
              std::ldexp(one.mantissa.real(), static_cast<int>(one.exponent));
        });
    // The condition number of the last ones is too large to say so much without scales.
    for (std::size_t k = 0; k < count; ++k) REQUIRE(found[k] == static_cast<double>(k + 1));
  }
}

}  // namespace speedwell::test::determinants_tests
