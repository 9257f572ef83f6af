// SPDX-License-Identifier: BSD-3-Clause
// quick_solve(): what it accepts, by solutions that are known by construction, and what it leaves
// to a Solver.
#include <cmath>
#include <complex>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "catch.hpp"
#include "core/clock.hpp"
#include "core/interrupt.hpp"
#include "core/random.hpp"
#include "core/scalar.hpp"
#include "device/device.hpp"
#include "host/lapack_lu.hpp"
#include "memory_limit.hpp"
#include "solve/quick_solve.hpp"

namespace speedwell::test::quick_solve_tests {
namespace {

using Complex = std::complex<double>;

/// A whole number of a few bits, so that products with such numbers are exact.
template <class T>
T few_bits(std::mt19937_64& bits) {
  const auto next = [&] { return static_cast<double>(bits() % 17) - 8; };
  if constexpr (field_of<T> == Field::real)
    return next();
  else
    return {next(), next()};
}

template <class T>
using Elements = std::function<T(std::int64_t i, std::int64_t j)>;

/// Where a test keeps A and B: with gaps, and B by rows or by columns.
template <class T>
struct Kept {
  Kept(std::int64_t order, std::int64_t columns, StorageOrder layout, const Elements<T>& a_of,
       const Elements<T>& b_of)
      : n(order), count(columns), by_rows(layout == StorageOrder::row_major) {
    a.resize(size_of(lda() * n));
    b.resize(size_of(n * ldb()));
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t i = 0; i < n; ++i)
        a[size_of(by_rows ? j + i * lda() : i + j * lda())] = a_of(i, j);
    for (std::int64_t k = 0; k < count; ++k)
      for (std::int64_t i = 0; i < n; ++i)
        b[size_of(by_rows ? k + i * ldb() : i + k * n)] = b_of(i, k);
  }
  static std::size_t size_of(std::int64_t size) { return static_cast<std::size_t>(size); }
  std::int64_t lda() const { return n + 2; }
  std::int64_t ldb() const { return count + 1; }

  bool solve(int threads = 1, std::uint64_t seed = 1) {
    const PlainSystem<T> system{n,
                                a.data(),
                                lda(),
                                by_rows ? StorageOrder::row_major : StorageOrder::column_major,
                                b.data(),
                                count,
                                by_rows ? ldb() : 1,
                                by_rows ? 1 : n};
    x.resize(size_of(n * count));
    const bool is_solved = quick_solve(system, x.data(), threads, nullptr, seed);
    if (!is_solved) x.clear();
    return is_solved;
  }

  std::int64_t n;
  std::int64_t count;
  bool by_rows;
  std::vector<T> a;
  std::vector<T> b;
  std::vector<T> x;
};

/// A system whose solution is known: whole numbers, with a permutation times `shift` that keeps A
/// from being singular, makes its condition number about `n` / `shift`, and exchanges rows.
template <class T>
struct Known {
  Known(std::int64_t n, std::int64_t count, double shift) {
    std::mt19937_64 bits(static_cast<std::uint64_t>(n + count));
    const auto size = [](std::int64_t s) { return static_cast<std::size_t>(s); };
    a.resize(size(n * n));
    x.resize(size(n * count));
    b.assign(x.size(), T{});
    for (T& value : a) value = few_bits<T>(bits);
    for (T& value : x) value = few_bits<T>(bits);
    for (std::int64_t i = 0; i < n; ++i) a[size((i + n / 3) % n + i * n)] += shift;
    for (std::int64_t k = 0; k < count; ++k)
      for (std::int64_t j = 0; j < n; ++j)
        for (std::int64_t i = 0; i < n; ++i)
          b[size(i + k * n)] += a[size(i + j * n)] * x[size(j + k * n)];
  }
  std::vector<T> a;
  std::vector<T> x;
  std::vector<T> b;
};

template <class T>
bool accepts(std::int64_t n, const Elements<T>& a, const Elements<T>& b) {
  for (const StorageOrder order : {StorageOrder::row_major, StorageOrder::column_major})
    for (const std::int64_t count : {1, 12})
      if (Kept<T>(n, count, order, a, b).solve()) return true;
  return false;
}

template <class T>
T wave(std::int64_t i, std::int64_t j) {
  const double real = std::sin(static_cast<double>(1 + i * i * 31 + j * 17 + i * j));
  if constexpr (field_of<T> == Field::real)
    return real + (i == j ? 6 : 0);
  else
    return {real + (i == j ? 6 : 0), std::cos(static_cast<double>(i * 7 - j * j * 3))};
}

template <class T>
T one_of(std::int64_t, std::int64_t) {
  return 1;
}

}  // namespace

TEMPLATE_TEST_CASE("quick_solve finds solutions that are known", "[quick]", double, Complex) {
  for (const int threads : {1, 2})
    for (const StorageOrder order : {StorageOrder::row_major, StorageOrder::column_major})
      for (const std::int64_t n : {1, 2, 3, 7, 16, 17, 33, 100, 257, 503})
        for (const std::int64_t count : {1, 3, 8, 9, 40}) {
          CAPTURE(threads, order, n, count);
          const double shift = 12 * std::sqrt(static_cast<double>(n)) + 10;
          const Known<TestType> known(n, count, shift);
          const auto at = [n](const std::vector<TestType>& v) {
            return [&v, n](std::int64_t i, std::int64_t j) {
              return v[static_cast<std::size_t>(i + j * n)];
            };
          };
          Kept<TestType> kept(n, count, order, at(known.a), at(known.b));
          const std::vector<TestType> a = kept.a;
          const std::vector<TestType> b = kept.b;
          REQUIRE(kept.solve(threads));
          CHECK(kept.a == a);
          CHECK(kept.b == b);
          double error = 0;
          for (std::size_t i = 0; i < kept.x.size(); ++i)
            error = std::max(error, std::abs(kept.x[i] - known.x[i]));
          // A is between shift / 2 and 2 shift times a unitary matrix, and |x| at most 8 sqrt(2).
          CHECK(error <= 8 * 12 * std::sqrt(static_cast<double>(n)) * 0x1p-53 * 4);
        }
}

TEMPLATE_TEST_CASE("quick_solve leaves Inf, NaN and ends of the range to a Solver", "[quick]",
                   double, Complex) {
  using T = TestType;
  const std::int64_t n = GENERATE(20, 501);
  REQUIRE(accepts<T>(n, wave<T>, one_of<T>));
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(),
                           std::numeric_limits<double>::infinity(), 1e200, 1e300}) {
    const auto spoiled = [bad](std::int64_t at, const Elements<T>& f) -> Elements<T> {
      return [=](std::int64_t i, std::int64_t j) -> T {
        if (i != at || j != 0) return f(i, j);
        if constexpr (field_of<T> == Field::real)
          return bad;
        else
          return {0, bad};
      };
    };
    CAPTURE(bad);
    for (const std::int64_t at : {std::int64_t{0}, n / 2, n - 1}) {
      CHECK_FALSE(accepts<T>(n, spoiled(at, wave<T>), one_of<T>));
      CHECK_FALSE(accepts<T>(n, wave<T>, spoiled(at, one_of<T>)));
    }
  }
  CHECK_FALSE(accepts<T>(
      n, [](std::int64_t i, std::int64_t j) { return 1e-200 * wave<T>(i, j); }, one_of<T>));
  CHECK_FALSE(accepts<T>(
      n, [](std::int64_t, std::int64_t) { return T{}; }, one_of<T>));
}

TEMPLATE_TEST_CASE("quick_solve leaves what is badly scaled to a Solver", "[quick]", double,
                   Complex) {
  using T = TestType;
  for (const std::int64_t n : {2, 20, 70, 501}) {
    CAPTURE(n);
    for (const double scale : {1e-3, 1e3}) {
      CHECK_FALSE(accepts<T>(
          n,
          [=](std::int64_t i, std::int64_t j) { return (i == n - 1 ? scale : 1) * wave<T>(i, j); },
          one_of<T>));
      CHECK_FALSE(accepts<T>(
          n,
          [=](std::int64_t i, std::int64_t j) { return (j == n - 1 ? scale : 1) * wave<T>(i, j); },
          one_of<T>));
    }
  }
}

TEST_CASE("quick_solve leaves what is nearly singular to a Solver", "[quick]") {
  const auto check = [](std::int64_t n, const Elements<double>& a) {
    CHECK_FALSE(accepts<double>(n, a, one_of<double>));
    const auto complex = [&](std::int64_t i, std::int64_t j) { return Complex(0, a(i, j)); };
    CHECK_FALSE(accepts<Complex>(n, complex, one_of<Complex>));
  };
  // Two equal rows, with a zero pivot or with roundings in its place.
  check(30, [](std::int64_t i, std::int64_t j) { return wave<double>(i == 29 ? 3 : i, j); });
  // Two columns that differ by a power of two: what is left of one of them is roundings.
  constexpr std::int64_t few = 8;
  for (std::int64_t one = 0; one < few; ++one)
    for (std::int64_t other = one + 1; other < few; ++other) {
      CAPTURE(one, other);
      check(few, [=](std::int64_t i, std::int64_t j) {
        const auto place = static_cast<std::uint64_t>(i + few * (j == other ? one : j));
        return symmetric_number(random_bits(0, place)) * (j == other ? 0.25 : 1);
      });
    }
  // Condition numbers of which a probe is sure, and by which x may have no digit.
  for (const double little : {1e-11, 4e-11})
    check(few, [=](std::int64_t i, std::int64_t j) {
      return wave<double>(i, j == 7 ? 3 : j) +
             (j == 7 ? little * std::cos(static_cast<double>(i)) : 0);
    });
  // Pivots of 1, and condition numbers of 2^59 and more.
  check(60, [](std::int64_t i, std::int64_t j) { return i == j ? 1.0 : i < j ? -1.0 : 0.0; });
  // With factors in FP32.
  check(510, [](std::int64_t i, std::int64_t j) { return wave<double>(i == 29 ? 3 : i, j); });
  check(510, [](std::int64_t i, std::int64_t j) {
    return i >= 60 || j >= 60 ? (i == j ? 1.0 : 0.0) : i == j ? 1.0 : i < j ? -1.0 : 0.0;
  });
  check(60, [](std::int64_t i, std::int64_t j) { return i == j ? 1.0 : i > j ? -1.0 : 0.0; });
  // Kahan's matrix.
  const double s = std::sin(0.8);
  const double c = std::cos(0.8);
  check(90, [=](std::int64_t i, std::int64_t j) {
    return std::pow(s, static_cast<double>(i)) * (i == j ? 1.0 : i < j ? -c : 0.0);
  });
  check(14, [](std::int64_t i, std::int64_t j) { return 1 / static_cast<double>(i + j + 1); });
}

TEST_CASE("quick_solve finds a singular A that hides from the random vectors of another seed",
          "[quick]") {
  // u^T A = 0 for a random u that is orthogonal to both vectors of seed 1.
  constexpr std::int64_t n = 20;
  std::mt19937_64 bits(3);
  std::normal_distribution<double> normal;
  const auto drawn = [&] {
    std::vector<double> v(n);
    for (double& value : v) value = normal(bits);
    return v;
  };
  const auto product = [](const std::vector<double>& a, const std::vector<double>& b) {
    return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
  };
  const auto without = [&](std::vector<double> v, const std::vector<double>& w) {
    const double part = product(v, w) / product(w, w);
    for (std::size_t i = 0; i < n; ++i) v[i] -= part * w[i];
    return v;
  };
  std::vector<std::vector<double>> probes(2, std::vector<double>(n));
  for (std::size_t i = 0; i < 2 * n; ++i)
    probes[i / n][i % n] = Probes(1, ProbeUse::quick).number(i);
  probes[1] = without(probes[1], probes[0]);
  std::vector<double> u = drawn();
  for (int times = 0; times < 3; ++times)
    for (const std::vector<double>& probe : probes) u = without(u, probe);
  std::vector<std::vector<double>> columns;
  for (std::int64_t j = 0; j < n; ++j) columns.push_back(without(drawn(), u));
  const auto element = [&](std::int64_t i, std::int64_t j) {
    return columns[static_cast<std::size_t>(j)][static_cast<std::size_t>(i)];
  };
  Kept<double> kept(n, 1, StorageOrder::column_major, element, one_of<double>);
  CHECK(kept.solve(1, 1));
  for (std::uint64_t seed = 2; seed < 50; ++seed) CHECK_FALSE(kept.solve(1, seed));
}

TEST_CASE("quick_solve ends early where it is interrupted", "[quick]") {
  const SteadyClock clock;
  for (const std::int64_t count : {1, 40}) {
    CAPTURE(count);
    const Kept<double> kept(300, count, StorageOrder::column_major, wave<double>, one_of<double>);
    const PlainSystem<double> system{
        300, kept.a.data(), kept.lda(), StorageOrder::column_major, kept.b.data(), count, 1, 300};
    std::vector<double> x(static_cast<std::size_t>(300 * count));
    for (const bool ends : {false, true}) {
      Interrupt interrupt([ends] { return ends; }, clock);
      interrupt.begin();
      CHECK(quick_solve(system, x.data(), 1, &interrupt) == !ends);
      CHECK(interrupt.ended() == ends);
    }
  }
}

TEST_CASE("quick_solve leaves factors that would take most of the free memory to a Solver",
          "[quick]") {
  constexpr std::int64_t n = 2001;
  Kept<double> kept(n, 1, StorageOrder::column_major, wave<double>, one_of<double>);
  CHECK(kept.solve());  // the BLAS takes its memory here, too
  const double factors = 8. * n * n;
  {
    const MemoryLimit limit(1.3 * factors);
    CHECK(kept.solve());
  }
  const MemoryLimit limit(1.2 * factors);
  CHECK_FALSE(kept.solve());
}

TEST_CASE("more right-hand sides are solved quickly with a larger A", "[quick]") {
  if (count_gpus() > 0) return;  // they solve larger systems
  for (const Field field : {Field::real, Field::complex}) {
    for (const int threads : {1, 2, 3, 64}) {
      CHECK(quick_limit(field, 1, threads) == 2000);
      CHECK(quick_limit(field, 8, threads) == 2000);
      CHECK(quick_limit(field, 9, threads) == 2000);
    }
    CHECK(quick_limit(field, 40, 2) == 2560);
    CHECK(quick_limit(field, 1000000, 1) == 8192);
    // Parts of the LU are one thread's, unless the program has a LAPACK with as many threads.
    CHECK(quick_limit(field, 40, 3) == 2000);
    share_lapack({.threads = [] { return 3; }});
    CHECK(quick_limit(field, 40, 3) == 2560);
    CHECK(quick_limit(field, 1000000, 3) == (field == Field::real ? 6694 : 4217));
    CHECK(quick_limit(field, 1000000, 4) == 2000);
    share_lapack({});
  }
}

TEST_CASE("quick_solve believes residuals, not factors", "[quick]") {
  // Entries of the last column double at each step of the LU (Wilkinson), not in that of A^T.
  for (const std::int64_t n : {30, 50, 60, 90, 600}) {
    CAPTURE(n);
    const auto wilkinson = [n](std::int64_t i, std::int64_t j) {
      return i == j || j == n - 1 ? 1.0 : i > j ? -1.0 : 0.0;
    };
    const auto times_ones = [n](std::int64_t i, std::int64_t) {
      return i == n - 1 ? 2.0 - static_cast<double>(n) : 2.0 - static_cast<double>(i);
    };
    Kept<double> grown(n, 1, StorageOrder::column_major, wilkinson, times_ones);
    const bool is_solved = grown.solve();
    if (n <= 30) CHECK(is_solved);
    for (const double x : grown.x) CHECK(std::fabs(x - 1) < 1e-12);
    CHECK(Kept<double>(n, 1, StorageOrder::row_major, wilkinson, times_ones).solve());
  }
}

}  // namespace speedwell::test::quick_solve_tests
