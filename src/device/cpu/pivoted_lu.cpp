// SPDX-License-Identifier: BSD-3-Clause
#include "device/cpu/pivoted_lu.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <numeric>
#include <utility>
#include <vector>

#include "core/expects.hpp"
#include "core/numbers.hpp"
#include "cpu/panel_loops.hpp"
#include "device/cpu/dense.hpp"
#include "device/cpu/triangular.hpp"

namespace speedwell {

namespace {

// The columns that are eliminated one by one: their rows stay in the first-level cache meanwhile.
constexpr std::int64_t leaf = 16;
// The order of complex triangles up to which solves are by pairs of real numbers.
constexpr std::int64_t pairs = 128;
// The columns that are updated at once: some tenths of a second for a complex A of order 8000.
constexpr std::int64_t piece = 512;

// Operations of an LU of m rows and n columns: LAPACK Working Note 41.
double lu_operations(Field field, std::int64_t rows, std::int64_t columns) {
  const auto m = static_cast<double>(rows);
  const auto n = static_cast<double>(columns);
  const auto parts = static_cast<double>(parts_of(field));
  return parts * parts * n * n * (m - n / 3);
}

// Row i of `a` changes places with row pivots[i] - 1, for each i of [begin, end) in turn. Several
// columns at once, since an exchange in a column waits for the one before it.
template <class T>
void exchange_rows(MatrixView<T> a, std::span<const int> pivots, std::int64_t begin,
                   std::int64_t end) {
  constexpr std::int64_t together = 8;
  for (std::int64_t j = 0; j < a.columns; j += together) {
    const MatrixView<T> some = a.block(0, j, a.rows, std::min(together, a.columns - j));
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t other = pivots[static_cast<std::size_t>(i)] - 1;
      for (std::int64_t k = 0; k < some.columns; ++k) std::swap(some(i, k), some(other, k));
    }
  }
}

template <class T>
class PivotedLu {
 public:
  PivotedLu(MatrixView<T> a, std::span<int> pivots, Interrupt* interrupt, const WholePanels& panels)
      : a_(a), pivots_(pivots), interrupt_(interrupt), panels_(panels) {}

  // Factors columns [begin, end), in rows from `begin` on. With A11 in rows and columns
  // [begin, middle), and A22 behind it:
  //     A11, A21 -> L11 U11, L21;  U12 = L11^-1 A12;  A22 - L21 U12 -> L22 U22.
  void factor(std::int64_t begin, std::int64_t end) {
    if (panels_.by != nullptr &&
        lu_operations(field_of<T>, a_.rows - begin, end - begin) <= panels_.most)
      return factor_whole(begin, end);
    if (end - begin <= leaf) return eliminate(begin, end);
    const std::int64_t middle = begin + round_up((end - begin) / 2, leaf);
    const std::int64_t left = middle - begin;
    const std::int64_t below = a_.rows - middle;
    factor(begin, middle);
    for (std::int64_t j = middle; j < end; j += piece) {
      if (ended()) return;  // pivots are unspecified from then on: no row is exchanged
      const std::int64_t some = std::min(piece, end - j);
      exchange_rows<T>(a_.block(0, j, a_.rows, some), pivots_, begin, middle);
      const MatrixView<T> u12 = a_.block(begin, j, left, some);
      solve_lower(begin, u12);
      subtract_product<T>(a_.block(middle, begin, below, left), u12,
                          a_.block(middle, j, below, some));
    }
    factor(middle, end);
    if (ended()) return;
    exchange_rows<T>(a_.block(0, begin, a_.rows, left), pivots_, middle, end);
  }

  std::int64_t zero_pivot() const { return zero_; }

 private:
  bool ended() const { return has_ended(interrupt_); }

  // B <- L^-1 B, of L from row and column `begin` on: by products of many columns, which an E(L) of
  // pairs (solve_left_lower()) would not have.
  void solve_lower(std::int64_t begin, MatrixView<T> b) {
    const MatrixView<T> l = a_.block(begin, begin, b.rows, b.rows);
    if (field_of<T> == Field::real || b.rows <= pairs) return solve_left_lower<T>(l, b);
    const std::int64_t half = b.rows / 2;
    const std::int64_t rest = b.rows - half;
    const MatrixView<T> first = b.block(0, 0, half, b.columns);
    const MatrixView<T> second = b.block(half, 0, rest, b.columns);
    solve_lower(begin, first);
    subtract_product<T>(l.block(half, 0, rest, half), first, second);
    solve_lower(begin + half, second);
  }

  void factor_whole(std::int64_t begin, std::int64_t end) {
    const std::span<int> rows =
        pivots_.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
    const std::int64_t zero =
        factor_by_lapack(a_.block(begin, begin, a_.rows - begin, end - begin), rows, panels_.by);
    for (int& row : rows) row += static_cast<int>(begin);
    if (zero >= 0 && zero_ < 0) zero_ = begin + zero;
  }

  // One column after the other; a pass over the rows eliminates column j in the columns behind it,
  // and finds the pivot of column j + 1.
  void eliminate(std::int64_t begin, std::int64_t end) {
    const PanelLoops<T>& loop = panel_loops<T>();
    Largest most = loop.find_largest(a_.column(begin) + begin, a_.rows - begin);
    for (std::int64_t j = begin; j < end; ++j) {
      const std::int64_t row = j + most.row;
      pivots_[static_cast<std::size_t>(j)] = static_cast<int>(row + 1);
      if (most.magnitude == 0 && zero_ < 0) zero_ = j;
      for (std::int64_t k = begin; k < end; ++k) std::swap(a_(j, k), a_(row, k));
      most =
          loop.eliminate(a_.block(j, j, 1, end - j), a_.block(j + 1, j, a_.rows - j - 1, end - j));
    }
  }

  MatrixView<T> a_;
  std::span<int> pivots_;
  Interrupt* interrupt_;
  WholePanels panels_;
  std::int64_t zero_ = -1;
};

}  // namespace

// A = P^T L U. With the reversal J, J U J and J L^T J are lower triangles:
//     A^-1 = J (J U J)^-1 J L^-1 P,    A^-T = P^T J (J L^T J)^-1 J U^-T.
template <class T>
void solve_pivoted(Transpose transpose, MatrixView<const T> lu, std::span<const int> pivots,
                   MatrixView<T> x) {
  SPEEDWELL_EXPECTS(x.rows == lu.columns);
  const std::int64_t n = lu.columns;
  const auto size = static_cast<std::size_t>(n);
  const bool is_transposed = transpose != Transpose::no;
  std::vector<T> l(size * size);
  std::vector<T> u(size * size);
  const MatrixView<T> lower{l.data(), n, n, n};
  const MatrixView<T> upper{u.data(), n, n, n};
  std::vector<T> reciprocals(size);
  std::vector<T> w(size);
  std::vector<std::size_t> rows(size);  // row i of P X is row rows[i] of X
  std::iota(rows.begin(), rows.end(), std::size_t{0});
  for (std::size_t i = 0; i < size; ++i)
    std::swap(rows[i], rows[static_cast<std::size_t>(pivots[i] - 1)]);
  for (std::int64_t k = 0; k < n; ++k) {
    reciprocals[static_cast<std::size_t>(k)] = T(1) / lu(k, k);
    const std::int64_t back = n - 1 - k;
    for (std::int64_t i = k + 1; i < n; ++i) {
      lower(i, k) = is_transposed ? lu(back, n - 1 - i) : lu(i, k);
      upper(i, k) =
          is_transposed ? lu(k, i) / lu(i, i) : lu(n - 1 - i, back) / lu(n - 1 - i, n - 1 - i);
    }
  }
  const auto solve = [&](MatrixView<T> triangle) { solve_left_lower<T>(triangle, x); };
  const auto each_column = [&](const auto& change) {
    for (std::int64_t k = 0; k < x.columns; ++k) change(std::span(x.column(k), size));
  };
  const auto divide = [&](std::span<T> v) {
    for (std::size_t i = 0; i < size; ++i) v[i] *= reciprocals[i];
  };
  if (is_transposed) {
    each_column(divide);
    solve(upper);
    each_column([](std::span<T> v) { std::ranges::reverse(v); });
    solve(lower);
    each_column([&](std::span<T> v) {
      std::ranges::copy(v, w.begin());
      for (std::size_t i = 0; i < size; ++i) v[rows[i]] = w[size - 1 - i];
    });
  } else {
    each_column([&](std::span<T> v) {
      std::ranges::copy(v, w.begin());
      for (std::size_t i = 0; i < size; ++i) v[i] = w[rows[i]];
    });
    solve(lower);
    each_column([&](std::span<T> v) {
      divide(v);
      std::ranges::reverse(v);
    });
    solve(upper);
    each_column([](std::span<T> v) { std::ranges::reverse(v); });
  }
}

template void solve_pivoted(Transpose, MatrixView<const double>, std::span<const int>,
                            MatrixView<double>);
template void solve_pivoted(Transpose, MatrixView<const std::complex<double>>, std::span<const int>,
                            MatrixView<std::complex<double>>);

std::int64_t most_whole(Field field) {
  return static_cast<std::int64_t>(std::cbrt(WholePanels{}.most / lu_operations(field, 1, 1)));
}

template <class T>
std::int64_t factor_pivoted(MatrixView<T> a, std::span<int> pivots, Interrupt* interrupt,
                            const WholePanels& panels) {
  SPEEDWELL_EXPECTS(a.rows == a.columns && a.rows == std::ssize(pivots) &&
                    a.rows < std::int64_t{1} << 31);
  PivotedLu<T> lu(a, pivots, interrupt, panels);
  if (!a.empty()) lu.factor(0, a.columns);
  return lu.zero_pivot();
}
template std::int64_t factor_pivoted(MatrixView<float>, std::span<int>, Interrupt*,
                                     const WholePanels&);
template std::int64_t factor_pivoted(MatrixView<double>, std::span<int>, Interrupt*,
                                     const WholePanels&);
template std::int64_t factor_pivoted(MatrixView<std::complex<float>>, std::span<int>, Interrupt*,
                                     const WholePanels&);
template std::int64_t factor_pivoted(MatrixView<std::complex<double>>, std::span<int>, Interrupt*,
                                     const WholePanels&);

}  // namespace speedwell
