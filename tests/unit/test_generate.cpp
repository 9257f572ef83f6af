// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <speedwell/error.hpp>

#include "catch.hpp"
#include "element/matrix_spec.hpp"
#include "generate/generator.hpp"

namespace speedwell::test::generate_tests {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

using Matrix = std::vector<std::vector<double>>;  // by rows

Matrix matrix(const MatrixSpec& spec) {
  Matrix a(spec.n, std::vector<double>(spec.n));
  for (std::int64_t i = 0; i < spec.n; ++i)
    for (std::int64_t j = 0; j < spec.n; ++j) a[i][j] = spec.entry(i, j);
  return a;
}

MatrixSpec fasi_higham(std::int64_t n, double alpha, double beta) {
  MatrixSpec spec;
  spec.kind = MatrixKind::fasi_higham;
  spec.n = n;
  spec.alpha = alpha;
  spec.beta = beta;
  return spec;
}

double norm(const Matrix& a) {
  double largest = 0;
  for (const auto& row : a) {
    double sum = 0;
    for (double value : row) sum += std::abs(value);
    largest = std::max(largest, sum);
  }
  return largest;
}

/// The inverse of a, by Gauss-Jordan elimination without pivoting.
Matrix inverse(Matrix a) {
  const std::size_t n = a.size();
  Matrix b(n, std::vector<double>(n));
  for (std::size_t i = 0; i < n; ++i) b[i][i] = 1;
  for (std::size_t k = 0; k < n; ++k) {
    for (std::size_t i = 0; i < n; ++i) {
      if (i == k) continue;
      const double factor = a[i][k] / a[k][k];
      for (std::size_t j = 0; j < n; ++j) {
        a[i][j] -= factor * a[k][j];
        b[i][j] -= factor * b[k][j];
      }
    }
  }
  for (std::size_t i = 0; i < n; ++i)
    for (double& value : b[i]) value /= a[i][i];
  return b;
}

/// L U of the unit triangular factors that define fasi-higham: -alpha below the diagonal of L,
/// -beta above that of U.
Matrix product_of_factors(std::int64_t n, double alpha, double beta) {
  Matrix a(n, std::vector<double>(n));
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t k = 0; k <= std::min(i, j); ++k)
        a[i][j] += (k == i ? 1 : -alpha) * (k == j ? 1 : -beta);
  return a;
}

double condition(std::int64_t n, double alpha, double beta) {
  return fasi_higham_norm(n, alpha, beta) * fasi_higham_inverse_norm(n, alpha, beta);
}

}  // namespace

TEST_CASE("a jump equals as many single steps") {
  std::uint64_t x = 12345;
  for (std::uint64_t k = 0; k <= 5000; ++k, x = 6364136223846793005u * x + 1)
    REQUIRE(jump(k)(12345) == x);
}

TEST_CASE("long jumps add up") {
  const std::uint64_t seed = 987654321;
  for (int bit = 0; bit < 63; ++bit) {
    const std::uint64_t k = std::uint64_t{1} << bit;
    REQUIRE(jump(2 * k)(seed) == jump(k)(jump(k)(seed)));
    REQUIRE(jump(k + 77)(seed) == jump(77)(jump(k)(seed)));
    REQUIRE(jump(2 * k - 1)(seed) == jump(k - 1)(jump(k)(seed)));
  }
  // With a = 5 (mod 8) and odd c the period is 2^64, so 2^63 steps change only the top bit.
  REQUIRE(jump(std::uint64_t{1} << 63)(seed) == (seed ^ (std::uint64_t{1} << 63)));
  REQUIRE(jump(~std::uint64_t{0})(Affine{}(seed)) == seed);
}

TEST_CASE("affine maps compose") {
  const Affine f{3, 5};
  const Affine g{7, 11};
  REQUIRE(g.after(f)(2) == g(f(2)));
}

TEST_CASE("uniform and fused_uniform are the product and the difference of doubles, bit for bit") {
  std::uint64_t x = 1;
  std::vector<std::uint64_t> all{0, 1, ~std::uint64_t{0}, std::uint64_t{1} << 63};
  for (int bit = 0; bit < 64; ++bit) {
    const std::uint64_t power = std::uint64_t{1} << bit;
    all.insert(all.end(), {power, power - 1, power + 1, ~power, power | (power >> 53)});
  }
  for (int k = 0; k < 100000; ++k, x = Affine{}(x)) all.push_back(x);
  for (std::uint64_t value : all) {
    volatile double scaled = static_cast<double>(value) * 0x1p-64;  // volatile: no contraction
    const double expected = scaled - 0.5;
    REQUIRE(uniform(value) == expected);
    REQUIRE(fused_uniform(value) == expected);
    REQUIRE(std::abs(expected) <= 0.5);
  }
}

TEST_CASE("entries of the random matrices are the stream, column after column") {
  for (std::int64_t n : {1, 2, 3, 8, 17, 64}) {
    for (std::int64_t stride : {n, n | 1}) {
      MatrixSpec spec;
      spec.n = n;
      spec.seed = 42;
      spec.stride = stride;
      spec.shift = 2.5;
      std::uint64_t x = spec.seed;
      for (std::int64_t j = 0; j < n; ++j) {
        for (std::int64_t i = 0; i < stride; ++i) {
          x = 6364136223846793005u * x + 1;
          if (i >= n) continue;
          const double u = static_cast<double>(x) * 0x1p-64 - 0.5;
          REQUIRE(spec.state(i, j) == x);
          REQUIRE(spec.regular(i, j) == u);
          REQUIRE(spec.entry(i, j) == (i == j ? u + 2.5 : u));
        }
      }
    }
  }
}

TEST_CASE("dominant takes its diagonal from a table") {
  const std::vector<double> diagonal{4, 5, 6};
  MatrixSpec spec;
  spec.kind = MatrixKind::dominant;
  spec.n = spec.stride = 3;
  spec.diagonal = diagonal.data();
  for (std::int64_t i = 0; i < 3; ++i) {
    CHECK(spec.entry(i, i) == diagonal[static_cast<std::size_t>(i)]);
    CHECK(spec.entry(i, (i + 1) % 3) == uniform(spec.state(i, (i + 1) % 3)));
  }
}

TEST_CASE("the right-hand side is the stream of the next seed") {
  MatrixSpec spec;
  spec.n = 100;
  spec.seed = 7;
  std::uint64_t x = 8;
  for (std::int64_t i = 0; i < 100; ++i) {
    x = 6364136223846793005u * x + 1;
    REQUIRE(spec.right_hand_side(i) == static_cast<double>(x) * 0x1p-64 - 0.5);
  }
}

TEST_CASE("fasi-higham is the product of its factors") {
  for (std::int64_t n : {1, 2, 5, 20}) {
    const Matrix a = matrix(fasi_higham(n, 0.125, 0.25));  // no rounding occurs
    REQUIRE(a == product_of_factors(n, 0.125, 0.25));
  }
}

TEST_CASE("fasi-higham: the closed norm is the largest row sum") {
  for (std::int64_t n : {1, 2, 3, 4, 5, 7, 20, 61})
    for (double beta = 1e-6; beta < 100; beta *= 1.3)
      for (double rho : {1e-3, 0.1, 0.5, 0.9, 1.0}) {
        INFO("n " << n << ", beta " << beta << ", rho " << rho);
        const double expected = norm(matrix(fasi_higham(n, rho * beta, beta)));
        REQUIRE(fasi_higham_norm(n, rho * beta, beta) == Approx(expected).epsilon(1e-13));
      }
}

TEST_CASE("fasi-higham: the closed norm of the inverse is that of an explicit inverse") {
  for (std::int64_t n : {1, 2, 3, 4, 7, 20, 41})
    for (double beta : {0.0, 1e-9, 0.01, 0.1, 0.2})
      for (double alpha : {0.0, beta / 1000, beta / 10, beta / 2, beta, 0.1}) {
        INFO("n " << n << ", alpha " << alpha << ", beta " << beta);
        const Matrix a = product_of_factors(n, alpha, beta);
        const double expected = norm(inverse(a));
        const double kappa = norm(a) * expected;
        REQUIRE(fasi_higham_inverse_norm(n, alpha, beta) ==
                Approx(expected).epsilon(1e-14 * static_cast<double>(n) * kappa));
      }
}

TEST_CASE("fasi-higham: norms of tiny and of huge parameters") {
  // To first order in n beta, row 0 of the matrix and of its inverse both sum to 1 + (n-1) beta.
  const double n = 1e7;
  for (double beta : {1e-20, 1e-17, 1e-15}) {
    CHECK(fasi_higham_norm(10000000, beta / 2, beta) - 1 ==
          Approx((n - 1) * beta).margin(4e-16).epsilon(1e-6));
    CHECK(fasi_higham_inverse_norm(10000000, beta / 2, beta) - 1 ==
          Approx((n - 1) * beta).margin(4e-16).epsilon(1e-6));
  }
  // r^(n-1) tends to exp((n-1)(alpha + beta)) and, for alpha = beta / 2, beta / (r-1) to 2/3.
  const double beta = 2e-6;
  CHECK(fasi_higham_inverse_norm(10000000, beta / 2, beta) ==
        Approx(1 + 2.0 / 3 * std::expm1((n - 1) * 1.5 * beta)).epsilon(1e-4));

  for (double huge : {1.0, 1e100, 1e200, 1e308}) {
    CHECK(fasi_higham_inverse_norm(10000000, huge, huge) == infinity);
    CHECK(fasi_higham_inverse_norm(10000000, huge, 0) == infinity);
    CHECK_FALSE(std::isnan(fasi_higham_norm(10000000, huge, huge)));
    CHECK(condition(10000000, huge, huge) == infinity);
  }
}

TEST_CASE("fasi-higham: beta gives the condition number that was asked for, by the closed norms") {
  for (double kappa : {1.5, 10.0, 100.0, 1000.0, 1e6})
    for (double rho : {0.1, 0.5, 1.0})
      for (std::int64_t n : {2, 3, 50, 1000, 100000, 10000000}) {
        INFO("n " << n << ", kappa " << kappa << ", rho " << rho);
        const double beta = fasi_higham_beta(n, kappa, rho);
        REQUIRE(condition(n, rho * beta, beta) == Approx(kappa).epsilon(1e-13));
      }
}

TEST_CASE("fasi-higham: kappa is the condition number by an explicit inverse") {
  for (double kappa : {1.5, 10.0, 100.0, 1000.0, 1e6})
    for (double rho : {0.1, 0.5, 1.0})
      for (std::int64_t n : {2, 3, 50}) {
        INFO("n " << n << ", kappa " << kappa << ", rho " << rho);
        const double beta = fasi_higham_beta(n, kappa, rho);
        const Matrix a = matrix(fasi_higham(n, rho * beta, beta));
        REQUIRE(norm(a) * norm(inverse(a)) == Approx(kappa).epsilon(1e-14 * kappa));
      }
}

TEST_CASE("fasi-higham: beta grows with kappa and falls with n") {
  double before = 0;
  for (double kappa = 1.001; kappa < 1e300; kappa = kappa * kappa) {
    const double beta = fasi_higham_beta(1000, kappa, 0.5);
    CHECK(beta > before);
    CHECK(fasi_higham_beta(2000, kappa, 0.5) < beta);
    before = beta;
  }
}

TEST_CASE("fasi-higham: the condition number of a 1 x 1 matrix is 1") {
  for (double kappa : {1.5, 1000.0}) CHECK(fasi_higham_beta(1, kappa, 0.5) == 0);
  CHECK(condition(1, 0, 0) == 1);
}

TEST_CASE("fasi-higham: parameters out of range are refused") {
  const double nan = std::nan("");
  for (double kappa : {1.0, 0.0, -5.0, infinity, nan})
    CHECK_THROWS_AS(fasi_higham_beta(10, kappa, 0.5), UsageError);
  for (double rho : {0.0, -1.0, 1.1, nan})
    CHECK_THROWS_AS(fasi_higham_beta(10, 1000, rho), UsageError);
  CHECK_THROWS_AS(fasi_higham_beta(0, 1000, 0.5), UsageError);
}
}  // namespace speedwell::test::generate_tests
