// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <random>
#include <type_traits>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "core/clock.hpp"
#include "core/interrupt.hpp"
#include "core/numbers.hpp"
#include "core/scalar.hpp"
#include "device/cpu/pivoted_lu.hpp"
#include "host/lapack_lu.hpp"
#include "host/thread_scope.hpp"

namespace speedwell::test::pivoted_lu_tests {
namespace {

/// A matrix inside of a larger one, of which no other entry may change.
template <class T = double>
struct Padded {
  explicit Padded(std::int64_t n) : order(n), memory(size_of((n + 3) * n), T(untouched)) {}
  static std::size_t size_of(std::int64_t n) { return static_cast<std::size_t>(n); }
  MatrixView<T> view() { return {memory.data() + 1, order, order, order + 3}; }
  bool kept_the_rest() const {
    std::int64_t found = 0;
    for (const T value : memory) found += static_cast<std::int64_t>(value == T(untouched));
    return found == 3 * order;
  }
  static constexpr double untouched = -77;
  std::int64_t order;
  std::vector<T> memory;
};

template <class T = double>
Padded<T> random_matrix(std::int64_t n) {
  using Number = decltype(std::abs(T{}));
  Padded<T> a(n);
  std::mt19937_64 bits(static_cast<std::uint64_t>(n));
  const auto number = [&] {
    return static_cast<Number>(static_cast<double>(bits() >> 11) * 0x1p-52 - 1);
  };
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t i = 0; i < n; ++i)
      if constexpr (field_of<T> == Field::real) {
        a.view()(i, j) = number();
      } else {
        const Number re = number();
        a.view()(i, j) = T(re, number());
      }
  return a;
}

double magnitude(double z) {
  return std::fabs(z);
}
double magnitude(std::complex<double> z) {
  return std::fabs(z.real()) + std::fabs(z.imag());
}

/// The specification: one column after the other, in long double. Returns the pivots.
std::vector<int> factor_plainly(std::vector<long double>& a, std::int64_t n) {
  const auto at = [&](std::int64_t i, std::int64_t j) -> long double& {
    return a[static_cast<std::size_t>(i + j * n)];
  };
  std::vector<int> pivots;
  for (std::int64_t k = 0; k < n; ++k) {
    std::int64_t row = k;
    for (std::int64_t i = k; i < n; ++i)
      if (std::fabs(at(i, k)) > std::fabs(at(row, k))) row = i;
    pivots.push_back(static_cast<int>(row + 1));
    for (std::int64_t j = 0; j < n; ++j) std::swap(at(k, j), at(row, j));
    for (std::int64_t i = k + 1; i < n; ++i) {
      at(i, k) /= at(k, k);
      for (std::int64_t j = k + 1; j < n; ++j) at(i, j) -= at(i, k) * at(k, j);
    }
  }
  return pivots;
}

}  // namespace

TEST_CASE("factor_pivoted has the pivots and factors of a plain elimination") {
  for (const int threads : {1, 2})
    for (const std::int64_t n : {1, 2, 15, 16, 17, 33, 64, 100, 257, 401}) {
      CAPTURE(threads, n);
      const ThreadScope scope(threads);
      Padded<> a = random_matrix(n);
      std::vector<long double> plain;
      for (std::int64_t j = 0; j < n; ++j)
        plain.insert(plain.end(), a.view().column(j), a.view().column(j) + n);
      std::vector<int> pivots(static_cast<std::size_t>(n));
      CHECK(factor_pivoted(a.view(), pivots) == -1);
      CHECK(pivots == factor_plainly(plain, n));
      CHECK(a.kept_the_rest());
      // Roundings grow as L and U do, of which a random matrix has nearly n^(2/3), and its
      // condition.
      double most = 0;
      for (std::int64_t j = 0; j < n; ++j)
        for (std::int64_t i = 0; i < n; ++i)
          most = std::max(most, static_cast<double>(std::fabs(
                                    a.view()(i, j) - plain[static_cast<std::size_t>(i + j * n)])));
      const auto order = static_cast<double>(n);
      CHECK(most <= 10 * order * order * order * eps);
    }
}

TEMPLATE_TEST_CASE("factor_pivoted has pivots no smaller than what is below, and L U is P A", "",
                   float, double, std::complex<float>, std::complex<double>) {
  using T = TestType;
  using Wide = std::conditional_t<field_of<T> == Field::real, double, std::complex<double>>;
  const double u = std::numeric_limits<decltype(std::abs(T{}))>::epsilon() / 2;
  for (const int threads : {1, 2})
    for (const std::int64_t n : {1, 2, 15, 16, 17, 33, 64, 100, 257}) {
      CAPTURE(threads, n);
      const ThreadScope scope(threads);
      Padded<T> given = random_matrix<T>(n);
      Padded<T> a = given;
      std::vector<int> pivots(static_cast<std::size_t>(n));
      CHECK(factor_pivoted(a.view(), pivots) == -1);
      CHECK(a.kept_the_rest());
      for (std::int64_t i = 0; i < n; ++i)
        for (std::int64_t j = 0; j < n; ++j)
          std::swap(given.view()(i, j), given.view()(pivots[static_cast<std::size_t>(i)] - 1, j));
      // |P A - L U| <= n u |L| |U|, four times that for complex products.
      const auto lu = a.view();
      bool is_accurate = true;
      bool is_largest = true;
      for (std::int64_t j = 0; j < n; ++j)
        for (std::int64_t i = 0; i < n; ++i) {
          Wide sum = 0;
          double size = 0;
          for (std::int64_t k = 0; k <= std::min(i, j); ++k) {
            const Wide l = k == i ? Wide(1) : Wide(lu(i, k));
            sum += l * Wide(lu(k, j));
            size += magnitude(l) * magnitude(Wide(lu(k, j)));
          }
          const double error = magnitude(Wide(given.view()(i, j)) - sum);
          is_accurate = is_accurate && error <= 4 * static_cast<double>(n) * (u + eps) * size;
          // l = a / p, |re| + |im| of which p has the most: so |l| is at most sqrt(2).
          is_largest = is_largest && (i <= j || std::abs(Wide(lu(i, j))) <= std::sqrt(2.) + 8 * u);
        }
      CHECK(is_accurate);
      CHECK(is_largest);
    }
}

namespace {

int& shared_calls() {
  static int calls = 0;
  return calls;
}

/// dgemm with integers of 64 bits, of plain matrices, as a program may share it.
void shared_dgemm(const char* form, const char*, const std::int64_t* m, const std::int64_t* n,
                  const std::int64_t* k, const double* alpha, const double* a,
                  const std::int64_t* lda, const double* b, const std::int64_t* ldb,
                  const double* beta, double* c, const std::int64_t* ldc) {
  ++shared_calls();
  for (std::int64_t j = 0; j < *n; ++j)
    for (std::int64_t i = 0; i < *m; ++i) {
      double sum = 0;
      for (std::int64_t l = 0; l < *k; ++l)
        sum += (*form == 'N' ? a[i + l * *lda] : a[l + i * *lda]) * b[l + j * *ldb];
      c[i + j * *ldc] = *alpha * sum + *beta * c[i + j * *ldc];
    }
}

}  // namespace

TEST_CASE("products of an LU are those that the program has shared, while that is asked for") {
  LapackRoutines routines;
  routines.gemm[1] = reinterpret_cast<void*>(&shared_dgemm);
  Padded<> a = random_matrix(200);
  std::vector<long double> plain;
  for (std::int64_t j = 0; j < 200; ++j)
    plain.insert(plain.end(), a.view().column(j), a.view().column(j) + 200);
  std::vector<int> pivots(200);
  shared_calls() = 0;
  {
    const SharedProducts products(&routines);
    {
      const SharedProducts none(nullptr);
      Padded<> other = random_matrix(200);
      CHECK(factor_pivoted(other.view(), pivots) == -1);
      CHECK(shared_calls() == 0);
    }
    CHECK(factor_pivoted(a.view(), pivots) == -1);
  }
  CHECK(shared_calls() > 0);
  CHECK(pivots == factor_plainly(plain, 200));
  const int before = shared_calls();
  Padded<> other = random_matrix(200);
  CHECK(factor_pivoted(other.view(), pivots) == -1);
  CHECK(shared_calls() == before);
}

namespace {

/// dgetrf with integers of 64 bits, plain, as a program may share it.
void shared_dgetrf(const std::int64_t* m, const std::int64_t* n, double* a, const std::int64_t* lda,
                   std::int64_t* pivots, std::int64_t* info) {
  ++shared_calls();
  *info = 0;
  const auto at = [&](std::int64_t i, std::int64_t j) -> double& { return a[i + j * *lda]; };
  for (std::int64_t k = 0; k < *n; ++k) {
    std::int64_t row = k;
    for (std::int64_t i = k; i < *m; ++i)
      if (std::fabs(at(i, k)) > std::fabs(at(row, k))) row = i;
    pivots[k] = row + 1;
    if (at(row, k) == 0) {
      if (*info == 0) *info = k + 1;
      continue;
    }
    for (std::int64_t j = 0; j < *n; ++j) std::swap(at(k, j), at(row, j));
    for (std::int64_t i = k + 1; i < *m; ++i) {
      at(i, k) /= at(k, k);
      for (std::int64_t j = k + 1; j < *n; ++j) at(i, j) -= at(i, k) * at(k, j);
    }
  }
}

}  // namespace

TEST_CASE("factor_pivoted leaves panels of few operations to the getrf that it is given") {
  LapackRoutines routines;
  routines.getrf[1] = reinterpret_cast<void*>(&shared_dgetrf);
  // Of 203 columns: none, 16 at a time where few rows are left, two halves, and the whole matrix.
  for (const auto& [most, calls] : {std::pair{0., 0}, {4e4, 9}, {3e6, 2}, {1e7, 1}}) {
    CAPTURE(most);
    Padded<> a = random_matrix(203);
    Padded<> before = random_matrix(203);
    std::vector<long double> plain;
    for (std::int64_t j = 0; j < 203; ++j)
      plain.insert(plain.end(), before.view().column(j), before.view().column(j) + 203);
    std::vector<int> pivots(203);
    shared_calls() = 0;
    CHECK(factor_pivoted(a.view(), pivots, nullptr, {&routines, most}) == -1);
    CHECK(a.kept_the_rest());
    CHECK(pivots == factor_plainly(plain, 203));
    double error = 0;
    for (std::int64_t j = 0; j < 203; ++j)
      for (std::int64_t i = 0; i < 203; ++i)
        error = std::max(
            error, std::fabs(a.view()(i, j) -
                             static_cast<double>(plain[static_cast<std::size_t>(i + 203 * j)])));
    CHECK(error < 1e-10);
    CHECK(shared_calls() == calls);
    // A diagonal matrix, in a panel behind the first one of which there is a zero.
    Padded<> zero = random_matrix(203);
    for (std::int64_t j = 0; j < 203; ++j)
      for (std::int64_t i = 0; i < 203; ++i) zero.view()(i, j) = i == j && i != 150 ? 2 : 0;
    CHECK(factor_pivoted(zero.view(), pivots, nullptr, {&routines, most}) == 150);
  }
}

TEMPLATE_TEST_CASE("solve_pivoted finds solutions that are known", "", double,
                   std::complex<double>) {
  using T = TestType;
  const auto size = [](std::int64_t n) { return static_cast<std::size_t>(n); };
  for (const std::int64_t n : {1, 2, 5, 31, 32, 33, 64, 100})
    for (const std::int64_t count : {1, 7})
      for (const bool transposed : {false, true}) {
        CAPTURE(n, count, transposed);
        // Whole numbers, so that B is exact.
        Padded<T> a = random_matrix<T>(n);
        for (std::int64_t j = 0; j < n; ++j)
          for (std::int64_t i = 0; i < n; ++i) {
            T& entry = a.view()(i, j);
            if constexpr (field_of<T> == Field::real)
              entry = std::round(9 * entry) + (i == (j + 3) % n ? 40 : 0);
            else
              entry = T(std::round(9 * entry.real()),
                        std::round(9 * entry.imag()) + (i == (j + 3) % n ? 40 : 0));
          }
        std::vector<T> known(size(n * count));
        for (std::size_t i = 0; i < known.size(); ++i)
          known[i] = T(static_cast<double>(i % 13) - 6);
        std::vector<T> x(known.size());
        for (std::int64_t k = 0; k < count; ++k)
          for (std::int64_t j = 0; j < n; ++j)
            for (std::int64_t i = 0; i < n; ++i)
              x[size(i + k * n)] +=
                  (transposed ? a.view()(j, i) : a.view()(i, j)) * known[size(j + k * n)];
        std::vector<int> pivots(size(n));
        REQUIRE(factor_pivoted(a.view(), pivots) == -1);
        solve_pivoted<T>(transposed ? Transpose::yes : Transpose::no, a.view(), pivots,
                         {x.data(), n, count, n});
        double error = 0;
        for (std::size_t i = 0; i < x.size(); ++i)
          error = std::max(error, std::abs(x[i] - known[i]));
        CHECK(error < 1e-10);
      }
}

TEST_CASE("factor_pivoted ends where it is interrupted, and writes nowhere else") {
  // A clock on which each question is due.
  class Clock final : public speedwell::Clock {
   public:
    double now() const override { return now_ += 1; }

   private:
    mutable double now_ = 0;
  };
  const Clock clock;
  for (int last = 0; last < 40; ++last) {
    CAPTURE(last);
    int questions = 0;
    Interrupt interrupt([&] { return questions++ == last; }, clock);
    interrupt.begin();
    Padded<> a = random_matrix(200);
    std::vector<int> pivots(200, -1000000);  // exchanges with such rows would be far outside
    factor_pivoted(a.view(), pivots, &interrupt);
    CHECK(a.kept_the_rest());
    CHECK(questions <= last + 1);  // no more, once it has ended
    if (last == 0) CHECK(questions == 1);
  }
}

TEST_CASE("factor_pivoted takes the first row of several with the same magnitude") {
  const std::int64_t n = 40;
  Padded<> a(n);
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t i = 0; i < n; ++i)
      a.view()(i, j) = i < j ? 0 : (i == j || j == 0 ? 1 : -1) * (j == 0 && i % 2 == 1 ? -1 : 1);
  std::vector<int> pivots(static_cast<std::size_t>(n));
  CHECK(factor_pivoted(a.view(), pivots) == -1);
  for (std::int64_t i = 0; i < n; ++i) CHECK(pivots[static_cast<std::size_t>(i)] == i + 1);
}

TEST_CASE("factor_pivoted names the first pivot that is zero, and goes on") {
  const std::int64_t n = 50;
  for (const std::int64_t zero : {0, 1, 20, 49}) {
    CAPTURE(zero);
    Padded<> a(n);  // upper triangular: nothing is rounded
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t i = 0; i < n; ++i)
        a.view()(i, j) = i > j || (i == j && (j == zero || j == 49)) ? 0 : 1;
    std::vector<int> pivots(static_cast<std::size_t>(n));
    CHECK(factor_pivoted(a.view(), pivots) == zero);
    CHECK(a.kept_the_rest());
  }
}

TEST_CASE("factor_pivoted leaves what is not finite in L\\U, and divides by the smallest pivots") {
  const std::int64_t n = 35;
  for (const double bad :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()})
    for (const std::int64_t place : {0, 17, 34}) {
      Padded<> a = random_matrix(n);
      a.view()(place, place) = bad;
      std::vector<int> pivots(static_cast<std::size_t>(n));
      factor_pivoted(a.view(), pivots);
      bool finite = true;
      for (std::int64_t j = 0; j < n; ++j)
        for (std::int64_t i = 0; i < n; ++i) finite = finite && std::isfinite(a.view()(i, j));
      CHECK_FALSE(finite);
      for (std::int64_t i = 0; i < n; ++i) {
        CHECK(pivots[static_cast<std::size_t>(i)] > i);
        CHECK(pivots[static_cast<std::size_t>(i)] <= n);
      }
    }
  const double least = std::numeric_limits<double>::denorm_min();
  std::vector<double> tiny{4 * least, 2 * least, 0, 8 * least};
  std::vector<int> pivots(2);
  CHECK(factor_pivoted<double>({tiny.data(), 2, 2, 2}, pivots) == -1);
  CHECK(tiny == std::vector<double>{4 * least, 0.5, 0, 8 * least});
}

TEST_CASE("factor_pivoted takes an empty matrix") {
  std::vector<int> pivots;
  CHECK(factor_pivoted<double>({nullptr, 0, 0, 1}, pivots) == -1);
}
}  // namespace speedwell::test::pivoted_lu_tests
