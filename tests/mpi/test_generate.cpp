// SPDX-License-Identifier: BSD-3-Clause
#include <cmath>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include <speedwell/error.hpp>

#include "catch.hpp"
#include "generate/generator.hpp"
#include "world.hpp"

namespace speedwell::test::generate_tests {
namespace {

BenchmarkOptions options(MatrixKind kind, std::int64_t n, std::uint64_t seed = 1) {
  BenchmarkOptions chosen;
  chosen.matrix = kind;
  chosen.n = n;
  chosen.seed = seed;
  return chosen;
}

/// The matrix `dominant`, stored by rows, generated in one pass along the stream.
std::vector<double> plain_dominant(std::int64_t n, std::uint64_t seed) {
  std::vector<double> a(n * n);
  std::vector<double> sums(n);
  std::uint64_t x = seed;
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t i = 0; i < n; ++i) {
      x = 6364136223846793005u * x + 1;
      const double u = static_cast<double>(x) * 0x1p-64 - 0.5;
      a[i * n + j] = u;
      sums[i] += std::fabs(u);
    }
  }
  for (std::int64_t i = 0; i < n; ++i) a[i * n + i] = sums[i] - std::fabs(a[i * n + i]);
  return a;
}

std::vector<double> entries(const MatrixSpec& spec) {
  std::vector<double> a;
  for (std::int64_t i = 0; i < spec.n; ++i)
    for (std::int64_t j = 0; j < spec.n; ++j) a.push_back(spec.entry(i, j));
  return a;
}

bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0;
}

}  // namespace

TEST_CASE("dominant is the sequential matrix, bit for bit, on any number of ranks", "[generate]") {
  const Communicator all = world();
  std::vector<std::int64_t> sizes{300};
  for (std::int64_t n = 1; n <= 65; ++n) sizes.push_back(n);
  for (std::int64_t n : sizes)
    for (std::uint64_t seed : {1, 12345}) {
      INFO("n " << n << ", seed " << seed);
      const Generator generator(options(MatrixKind::dominant, n, seed), all);
      REQUIRE(same_bits(entries(generator.spec()), plain_dominant(n, seed)));
    }
}

TEST_CASE("dominant: the off-diagonal magnitudes of a row sum to its diagonal entry",
          "[generate]") {
  const Communicator all = world();
  const std::int64_t n = 200;
  const Generator generator(options(MatrixKind::dominant, n), all);
  for (std::int64_t i = 0; i < n; ++i) {
    double others = 0;
    for (std::int64_t j = 0; j < n; ++j)
      if (j != i) others += std::abs(generator.spec().entry(i, j));
    REQUIRE(generator.spec().entry(i, i) == Approx(others).epsilon(1e-13));
  }
}

TEST_CASE("a generator that was moved keeps its diagonal", "[generate]") {
  const Communicator all = world();
  Generator first(options(MatrixKind::dominant, 40), all);
  const std::vector<double> before = entries(first.spec());
  const Generator second(std::move(first));
  REQUIRE(same_bits(entries(second.spec()), before));
}

TEST_CASE("scaled-diagonal takes odd strides and adds the square root of n", "[generate]") {
  const Communicator all = world();
  for (std::int64_t n : {1, 2, 9, 16, 101}) {
    const Generator generator(options(MatrixKind::scaled_diagonal, n, 5), all);
    const MatrixSpec& spec = generator.spec();
    CHECK(spec.n == n);
    CHECK(spec.seed == 5);
    CHECK(spec.stride == (n % 2 == 1 ? n : n + 1));
    CHECK(spec.entry(n - 1, n - 1) ==
          uniform(spec.state(n - 1, n - 1)) + std::sqrt(static_cast<double>(n)));
  }
}

TEST_CASE("fasi-higham takes alpha and beta from kappa and rho", "[generate]") {
  const Communicator all = world();
  BenchmarkOptions chosen = options(MatrixKind::fasi_higham, 50);
  chosen.kappa = 100;
  chosen.rho = 0.25;
  const Generator generator(chosen, all);
  const MatrixSpec& spec = generator.spec();
  CHECK(spec.beta == fasi_higham_beta(50, 100, 0.25));
  CHECK(spec.alpha == 0.25 * spec.beta);
  CHECK(spec.entry(0, 1) == -spec.beta);
  CHECK(spec.entry(1, 0) == -spec.alpha);

  chosen.kappa = 0.5;
  CHECK_THROWS_AS(Generator(chosen, all), UsageError);
  chosen.n = 1;
  chosen.kappa = 1000;
  CHECK(Generator(chosen, all).spec().entry(0, 0) == 1);
}
}  // namespace speedwell::test::generate_tests
