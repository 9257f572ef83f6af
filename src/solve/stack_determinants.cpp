// SPDX-License-Identifier: BSD-3-Clause
#include "solve/stack_determinants.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/expects.hpp"
#include "core/matrix_view.hpp"
#include "core/random.hpp"
#include "core/scalar.hpp"
#include "device/cpu/pivoted_lu.hpp"
#include "host/process_seed.hpp"
#include "host/thread_scope.hpp"
#include "host/threads.hpp"
#include "solve/answers.hpp"
#include "solve/determinant.hpp"
#include "solve/pivot_product.hpp"
#include "solve/zero_determinant.hpp"

namespace speedwell {

namespace {

// A test for zero that is made when it is first needed, since that takes as long as many LUs.
class LateZeroTest {
 public:
  template <class T>
  bool is_zero(MatrixView<const T> a) {
    if (a.rows > ZeroTest::most) return false;
    std::call_once(once_, [this] { test_.emplace(); });
    return test_->is_zero(a);
  }

 private:
  std::once_flag once_;
  std::optional<ZeroTest> test_;
};

// The larger part of a number in magnitude; NaN of a NaN.
double size_of_number(double z) {
  return std::fabs(z);
}
double size_of_number(std::complex<double> z) {
  const double re = std::fabs(z.real());
  const double im = std::fabs(z.imag());
  return re > im || std::isnan(re) ? re : im;
}

// The largest number, infinity if one is not finite.
template <class T>
double largest_size(const T* from, std::int64_t count) {
  double most = 0;
  bool finite = true;
  for (std::int64_t i = 0; i < count; ++i) {
    const double size = size_of_number(from[i]);
    most = std::max(most, size);
    finite = finite && size <= std::numeric_limits<double>::max();
  }
  return finite ? most : std::numeric_limits<double>::infinity();
}

double product_of(double a, double b) {
  return a * b;
}
// Without the looks at Inf and NaN of the operator.
std::complex<double> product_of(std::complex<double> a, std::complex<double> b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

// As |re| + |im|, by which LAPACK chooses pivots.
double weight(double z) {
  return std::fabs(z);
}
double weight(std::complex<double> z) {
  return std::fabs(z.real()) + std::fabs(z.imag());
}

// As factor_pivoted(), for orders so small that calls take longer than the arithmetic.
template <class T>
bool eliminate(MatrixView<T> a, std::span<int> pivots) {
  const std::int64_t n = a.columns;
  for (std::int64_t k = 0; k < n; ++k) {
    T* const column = a.column(k);
    std::int64_t pivot = k;
    for (std::int64_t i = k + 1; i < n; ++i)
      if (weight(column[i]) > weight(column[pivot])) pivot = i;
    pivots[static_cast<std::size_t>(k)] = static_cast<int>(pivot + 1);
    if (column[pivot] == T(0)) return false;
    if (pivot != k)
      for (std::int64_t j = 0; j < n; ++j) std::swap(a(k, j), a(pivot, j));
    for (std::int64_t i = k + 1; i < n; ++i) column[i] /= column[k];
    for (std::int64_t j = k + 1; j < n; ++j) {
      T* const other = a.column(j);
      for (std::int64_t i = k + 1; i < n; ++i) other[i] -= product_of(column[i], other[k]);
    }
  }
  return true;
}

// As solve_pivoted(), for one vector.
template <class T>
void substitute(MatrixView<const T> lu, std::span<const int> pivots, T* x) {
  const std::int64_t n = lu.columns;
  for (std::int64_t k = 0; k < n; ++k) std::swap(x[k], x[pivots[static_cast<std::size_t>(k)] - 1]);
  for (std::int64_t k = 0; k < n; ++k)
    for (std::int64_t i = k + 1; i < n; ++i) x[i] -= product_of(lu(i, k), x[k]);
  for (std::int64_t k = n - 1; k >= 0; --k) {
    x[k] /= lu(k, k);
    for (std::int64_t i = 0; i < k; ++i) x[i] -= product_of(lu(i, k), x[k]);
  }
}

template <class T>
class OneAfterTheOther {
  static constexpr std::int64_t parts = parts_of(field_of<T>);
  static constexpr double seldom = 1e-3;  // the part of its size that a random product passes
  static constexpr double far = 0x1p400;  // the largest number; 1 / far is the smallest one
  // Random vectors, as quick_solve() has them.
  static constexpr std::int64_t probes = parts == 1 ? 2 : 1;
  static constexpr std::int64_t tiny = 12;  // the order up to which calls take longer

 public:
  OneAfterTheOther(std::int64_t n, LateZeroTest& zero)
      : n_(n),
        zero_(zero),
        lu_(size(n * n)),
        pivots_(size(n)),
        probes_(size(probes * n)),
        v_(probes_.size()) {
    const Probes random(process_seed(), ProbeUse::quick);
    for (std::size_t i = 0; i < v_.size(); ++i) v_[i] = random.number<T>(i);
  }

  std::optional<StackDeterminant> find(const T* a) {
    const double most = largest_size(a, n_ * n_);
    if (!std::isfinite(most)) return {};
    if (most == 0) return of_zero();
    const MatrixView<T> lu{lu_.data(), n_, n_, n_};
    std::copy_n(a, n_ * n_, lu_.data());
    const bool is_near = most <= far && most >= 1 / far;
    if (is_near && factor(lu) && is_certain(lu, most)) return product(lu);
    if (zero_.is_zero(MatrixView<const T>{a, n_, n_, n_})) return of_zero();
    return {};
  }

 private:
  static std::size_t size(std::int64_t n) { return static_cast<std::size_t>(n); }
  static StackDeterminant of_zero() { return {0, 0, 0, -std::numeric_limits<double>::infinity()}; }

  bool factor(MatrixView<T> lu) {
    return n_ <= tiny ? eliminate(lu, std::span(pivots_))
                      : factor_pivoted(lu, std::span(pivots_)) < 0;
  }

  StackDeterminant product(MatrixView<const T> lu) const {
    PivotProduct found;
    for (std::int64_t k = 0; k < n_; ++k) {
      found.multiply(lu(k, k));
      if (pivots_[size(k)] != k + 1) found.negate();
    }
    return {found.mantissa(), found.exponent(), found.sign(), found.log_magnitude()};
  }

  // With z = A^-1 v of two random v, 2 sqrt(N) / seldom max |z| is taken for the norm of A^-1
  // (docs/numerics.md, 5.4), and N max |a| for that of A. What the bound asks for leaves v - A z,
  // at most N growth eps |A| |z|, below seldom / 2.
  bool is_certain(MatrixView<const T> lu, double most) {
    double most_of_u = 0;
    for (std::int64_t j = 0; j < n_; ++j)
      most_of_u = std::max(most_of_u, largest_size(lu.column(j), j + 1));
    const double growth = most_of_u / most;
    if (!(growth <= std::max(100.0, static_cast<double>(n_)))) return false;
    probes_ = v_;
    if (n_ <= tiny)
      for (std::int64_t k = 0; k < probes; ++k) substitute<T>(lu, pivots_, probes_.data() + k * n_);
    else
      solve_pivoted<T>(Transpose::no, lu, pivots_, {probes_.data(), n_, probes, n_});
    const auto order = static_cast<double>(parts * n_);
    const double inverse =
        2 / seldom * std::sqrt(order) * largest_size(probes_.data(), probes * n_);
    return determinant_error(growth, order * order * most * inverse) < no_digit / 4;
  }

  std::int64_t n_;
  LateZeroTest& zero_;
  std::vector<T> lu_;
  std::vector<int> pivots_;
  std::vector<T> probes_;  // A^-1 v
  std::vector<T> v_;
};

template <class T>
void find_all(const T* a, std::int64_t count, std::int64_t n, int threads,
              const std::function<void(std::int64_t, const StackDeterminant&)>& found) {
  constexpr std::int64_t one_thread_limit = 256;        // up to which one is as fast as many
  constexpr std::int64_t operations_of_part = 400'000;  // of some tenths of a millisecond
  const bool by_blas = n > one_thread_limit;
  const ThreadScope scope(threads);
  LateZeroTest zero;
  const std::int64_t together =
      by_blas ? 1 : std::max<std::int64_t>(operations_of_part / (n * n * (n + 100)), 1);
  for_each_in_threads(ceil_div(count, together), by_blas ? 1 : threads, [&](std::int64_t part) {
    OneAfterTheOther<T> matrices(n, zero);
    const std::int64_t end = std::min(count, (part + 1) * together);
    for (std::int64_t k = part * together; k < end; ++k)
      if (const auto one = matrices.find(a + k * n * n)) found(k, *one);
  });
}

}  // namespace

template <class T>
void stack_determinants(const T* a, std::int64_t count, std::int64_t n, int threads,
                        const std::function<void(std::int64_t, const StackDeterminant&)>& found) {
  SPEEDWELL_EXPECTS(n >= 1);
  find_all(a, count, n, threads, found);
}
template void stack_determinants(const double*, std::int64_t, std::int64_t, int,
                                 const std::function<void(std::int64_t, const StackDeterminant&)>&);
template void stack_determinants(const std::complex<double>*, std::int64_t, std::int64_t, int,
                                 const std::function<void(std::int64_t, const StackDeterminant&)>&);

}  // namespace speedwell
