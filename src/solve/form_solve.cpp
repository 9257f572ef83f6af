// SPDX-License-Identifier: BSD-3-Clause
#include "solve/form_solve.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "core/expects.hpp"
#include "core/numbers.hpp"
#include "core/random.hpp"
#include "core/scalar.hpp"
#include "device/cpu/dense.hpp"
#include "device/device.hpp"
#include "refine/refinement.hpp"

namespace speedwell {

namespace {

bool is_symmetric(MatrixForm form) {
  return form == MatrixForm::symmetric || form == MatrixForm::hermitian ||
         form == MatrixForm::positive_definite;
}

double sum_of_parts(double v) {
  return std::fabs(v);
}
double sum_of_parts(std::complex<double> v) {
  return std::fabs(v.real()) + std::fabs(v.imag());
}
double largest_part(double v) {
  return std::fabs(v);
}
double largest_part(std::complex<double> v) {
  return std::max(std::fabs(v.real()), std::fabs(v.imag()));
}
template <class T>
double largest_part(const T* v, std::int64_t count) {
  double found = 0;
  for (std::int64_t i = 0; i < count; ++i) found = std::max(found, largest_part(v[i]));
  return found;
}

/// FormExponents of the scales of rows and columns: A is scaled to 2^rows[i] a_ij 2^columns[j].
struct FormScales {
  std::vector<int> rows;
  std::vector<int> columns;
};

/// The exponents of all elements, and scales from them.
template <class T>
class FormExponents {
 public:
  explicit FormExponents(MatrixView<const T> a) : n_(a.rows) {
    of_.reserve(static_cast<std::size_t>(n_ * n_));
    for (std::int64_t j = 0; j < n_; ++j)
      for (std::int64_t i = 0; i < n_; ++i) {
        const double size = largest_part(a(i, j));
        of_.push_back(size == 0 ? none : std::ilogb(size));
      }
  }

  /// Rows, then columns, as the other solvers scale A.
  FormScales of_rows_and_columns() const {
    FormScales scales{zeros(), zeros()};
    scales.rows = negated(largest_of_rows(scales.columns));
    scales.columns = negated(largest_of_columns(scales.rows));
    return scales;
  }
  /// The same for rows and columns: D. Ruiz, "A scaling algorithm to equilibrate both rows and
  /// columns norms in matrices", RAL-TR-2001-034.
  FormScales symmetric() const {
    constexpr int most_sweeps = 20;  // each halves the exponents of what is left
    std::vector<int> scales = zeros();
    for (int sweep = 0; sweep < most_sweeps; ++sweep) {
      bool changed = false;
      const std::vector<int> largest = largest_of_columns(scales);
      for (std::size_t i = 0; i < scales.size(); ++i) {
        if (largest[i] == none) continue;
        const int half = (largest[i] + scales[i]) / 2;
        scales[i] -= half;
        changed |= half != 0;
      }
      if (!changed) break;
    }
    return {scales, scales};
  }

 private:
  static constexpr int none = std::numeric_limits<int>::min();  // the exponent of 0

  std::vector<int> zeros() const { return std::vector<int>(static_cast<std::size_t>(n_), 0); }
  static std::vector<int> negated(std::vector<int> v) {
    for (int& value : v) value = value == none ? 0 : -value;
    return v;
  }
  std::vector<int> largest_of_rows(const std::vector<int>& columns) const {
    std::vector<int> largest(static_cast<std::size_t>(n_), none);
    auto from = of_.begin();
    for (const int column : columns)
      for (int& row : largest) {
        const int value = *from++;
        if (value != none) row = std::max(row, value + column);
      }
    return largest;
  }
  std::vector<int> largest_of_columns(const std::vector<int>& rows) const {
    std::vector<int> largest(static_cast<std::size_t>(n_), none);
    auto from = of_.begin();
    for (int& column : largest)
      for (const int row : rows) {
        const int value = *from++;
        if (value != none) column = std::max(column, value + row);
      }
    return largest;
  }

  std::int64_t n_;
  std::vector<int> of_;
};

template <class T>
class FormSolve {
  static constexpr int parts = static_cast<int>(parts_of(field_of<T>));
  // The part of its size below which all products of random vectors with a row of A^-1 are with a
  // probability of 1e-6 at most (docs/numerics.md, 5.4).
  static constexpr double seldom = 0.02;
  static constexpr std::int64_t probes = 4 / parts;
  static constexpr int most_corrections = 8;  // of an x
  static constexpr double alike = 10;         // ratio of sizes of rows that LAPACK leaves alone
  static constexpr double far = 0x1p400;      // sizes from 1 / far to far are not scaled
  static constexpr int most_scaled = 500;     // the largest exponent of a scale
  // What underflow changes in a product of the scaled system: half of 2^-1074, if not scaled by
  // more than that.
  static constexpr double lost_below = 0x1p-574;
  static constexpr double small = 0x1p-900;  // an x as small as this may have lost digits

 public:
  FormSolve(const FormOptions& options, MatrixView<const T> a, MatrixView<const T> b,
            MatrixView<T> x, double tolerance, std::uint64_t seed)
      : options_(options),
        seed_(seed),
        a_(a),
        b_(b),
        x_(x),
        n_(a.rows),
        numbers_(parts * n_),
        few_(x.columns <= Device::few_vectors),
        tolerance_(tolerance > 0 ? tolerance : default_tolerance(numbers_)) {}

  int run() {
    if (!take_matrix()) return -1;
    const FormFactors<T> factors(options_, a_);
    if (factors.info() != 0)
      return options_.form == MatrixForm::positive_definite ? factors.info() : -1;
    if (!take_sides()) return -1;
    return refine(factors) && leaves_a_digit() ? 0 : -1;
  }

 private:
  std::size_t entries(std::int64_t count) const { return static_cast<std::size_t>(count); }

  // A, scaled where sizes of rows or columns are not alike, and its norm. False where a row or a
  // column is zero, or scales are too large.
  bool take_matrix() {
    std::vector<double> rows(entries(n_), 0.0);
    std::vector<double> columns(entries(n_), 0.0);
    for (std::int64_t j = 0; j < n_; ++j)
      for (std::int64_t i = 0; i < n_; ++i) {
        const double size = largest_part(a_(i, j));
        rows[entries(i)] = std::max(rows[entries(i)], size);
        columns[entries(j)] = std::max(columns[entries(j)], size);
      }
    const auto [least_row, most_row] = std::ranges::minmax(rows);
    const auto [least_column, most_column] = std::ranges::minmax(columns);
    if (least_row == 0 || least_column == 0) return false;
    if (!(least_row * alike >= most_row && least_column * alike >= most_column) || most_row > far ||
        most_row < 1 / far)
      if (!scale()) return false;
    magnitudes_.resize(few_ ? entries(n_ * n_) : 0);
    std::ranges::fill(rows, 0.0);
    for (std::int64_t j = 0; j < n_; ++j)
      for (std::int64_t i = 0; i < n_; ++i) {
        const double size = sum_of_parts(a_(i, j));
        rows[entries(i)] += size;
        if (few_) magnitudes_[entries(i + j * n_)] = size;
      }
    norm_ = std::ranges::max(rows);
    return true;
  }

  bool scale() {
    const FormExponents<T> exponents(a_);
    scales_ = is_symmetric(options_.form) ? exponents.symmetric() : exponents.of_rows_and_columns();
    const auto is_large = [](int exponent) { return std::abs(exponent) > most_scaled; };
    if (std::ranges::any_of(scales_->rows, is_large) ||
        std::ranges::any_of(scales_->columns, is_large))
      return false;
    scaled_.resize(entries(n_ * n_));
    std::vector<double> factors(entries(n_));
    std::ranges::transform(scales_->rows, factors.begin(), [](int e) { return std::ldexp(1., e); });
    for (std::int64_t j = 0; j < n_; ++j) {
      const double column = std::ldexp(1., scales_->columns[entries(j)]);
      for (std::int64_t i = 0; i < n_; ++i)
        scaled_[entries(i + j * n_)] = a_(i, j) * factors[entries(i)] * column;
    }
    a_ = {scaled_.data(), n_, n_, n_};
    return true;
  }

  double row_factor(std::int64_t i) const {
    return scales_ ? std::ldexp(1., scales_->rows[entries(i)]) : 1.0;
  }

  // The scaled columns of B, each divided by a power of two, and the probes after them. False where
  // one has an Inf, or numbers that are too small.
  bool take_sides() {
    std::vector<double> factors(entries(n_));
    for (std::int64_t i = 0; i < n_; ++i) factors[entries(i)] = row_factor(i);
    sides_.resize(entries(n_ * (x_.columns + probes)));
    for (std::int64_t k = 0; k < x_.columns; ++k) {
      T* const to = sides_.data() + k * n_;
      for (std::int64_t i = 0; i < n_; ++i) to[i] = b_(i, k) * factors[entries(i)];
      const double size = largest_part(to, n_);
      if (!(size == 0 || (size > small && std::isfinite(size)))) return false;
      exponents_.push_back(size == 0 ? 0 : std::ilogb(size));
      const double factor = std::ldexp(1., -exponents_.back());
      for (std::int64_t i = 0; i < n_; ++i) to[i] *= factor;
    }
    const Probes random(seed_, ProbeUse::quick);
    std::uint64_t place = 0;
    for (auto v = sides_.begin() + x_.columns * n_; v != sides_.end(); ++v)
      *v = random.number<T>(place++);
    return true;
  }

  // What is known of a column of Y: r = b - A y, and what its rounding may be.
  struct Column {
    double error = 0;     // componentwise, or of many normwise: a part of |A| |y| + |b|
    double normwise = 0;  // |r| as a part of ||A|| ||y|| + ||b||
    double bound = 0;     // the largest |r_i|, and what its roundings and underflow may be
  };
  // @param sums of |A| |y|; null: norms take their place
  Column measured(const T* b, const T* y, const T* r, const double* sums) const {
    const double of_y = largest_part(y, n_);
    const double of_all = norm_ * of_y + largest_part(b, n_);
    // A sum of N products and its difference from b lose (N + 1) eps.
    const double lost = static_cast<double>(numbers_ + 1) * eps;
    const double underflow = static_cast<double>(numbers_) * lost_below * (1 + of_y);
    const double largest = largest_part(r, n_);
    Column found{.normwise = of_all == 0 ? largest : largest / of_all};
    if (sums == nullptr) {
      found.error = found.normwise;
      found.bound = largest + lost * of_all + underflow;
      return found;
    }
    for (std::int64_t i = 0; i < n_; ++i) {
      const double sum = sums[i] + sum_of_parts(b[i]);
      const double size = largest_part(r[i]);
      if (!(size <= found.error * sum)) found.error = size / sum;
      found.bound = std::max(found.bound, size + lost * sum + underflow);
    }
    return found;
  }

  // Refines Y until each column has a small error, or one that gets no smaller and LAPACK's
  // normwise error, and each probe's column a residual that tells ||A^-1||, as QuickSolve does.
  // False if one does not, or if an x is not what FP64 holds.
  bool refine(const FormFactors<T>& factors) {
    std::int64_t open = x_.columns + probes;
    std::vector<std::int64_t> who(entries(open));
    std::iota(who.begin(), who.end(), 0);
    std::vector<double> before(entries(open), std::numeric_limits<double>::infinity());
    std::vector<T> y = sides_;
    std::vector<T> r;
    std::vector<double> sums;
    factors.solve({y.data(), n_, open, n_});
    for (int correction = 0;; ++correction) {
      r.assign(sides_.begin(), sides_.begin() + n_ * open);
      subtract(y, r, open);
      if (few_) multiply_magnitudes(y, sums, open);
      std::int64_t left = 0;
      for (std::int64_t k = 0; k < open; ++k) {
        const T* const y_k = y.data() + k * n_;
        const Column found = measured(sides_.data() + k * n_, y_k, r.data() + k * n_,
                                      few_ ? sums.data() + k * n_ : nullptr);
        if (!std::isfinite(found.bound)) return false;
        const std::int64_t id = who[entries(k)];
        if (id >= x_.columns ? root() * found.bound <= seldom / 2
                             : is_accepted(found, before[entries(k)])) {
          if (!take(id, y_k, found.bound)) return false;
          continue;
        }
        if (correction == most_corrections || !(found.error < before[entries(k)] / 2)) return false;
        before[entries(left)] = found.error;
        who[entries(left)] = id;
        for (std::vector<T>* columns : {&sides_, &y, &r})
          if (left != k) std::copy_n(columns->begin() + k * n_, n_, columns->begin() + left * n_);
        ++left;
      }
      open = left;
      if (open == 0) return true;
      factors.solve({r.data(), n_, open, n_});
      for (std::int64_t i = 0; i < n_ * open; ++i) y[entries(i)] += r[entries(i)];
    }
  }

  bool is_accepted(const Column& found, double before) const {
    return found.error <= tolerance_ ||
           (found.error >= before / 2 && found.error < before && found.normwise <= tolerance_);
  }

  // R <- R - A Y, of a banded A by blocks along the diagonal.
  void subtract(const std::vector<T>& y, std::vector<T>& r, std::int64_t count) const {
    const MatrixView<const T> of_y{y.data(), n_, count, n_};
    const MatrixView<T> of_r{r.data(), n_, count, n_};
    for_each_block([&](std::int64_t i, std::int64_t j, std::int64_t rows, std::int64_t columns) {
      subtract_product<T>(a_.block(i, j, rows, columns), of_y.block(j, 0, columns, count),
                          of_r.block(i, 0, rows, count));
    });
  }
  // sums <- |A| |Y|.
  void multiply_magnitudes(const std::vector<T>& y, std::vector<double>& sums,
                           std::int64_t count) const {
    std::vector<double> of_y(entries(n_ * count));
    std::transform(y.begin(), y.begin() + n_ * count, of_y.begin(),
                   [](T v) { return sum_of_parts(v); });
    sums.assign(of_y.size(), 0.0);
    const MatrixView<const double> a{magnitudes_.data(), n_, n_, n_};
    const MatrixView<const double> factors{of_y.data(), n_, count, n_};
    const MatrixView<double> result{sums.data(), n_, count, n_};
    for_each_block([&](std::int64_t i, std::int64_t j, std::int64_t rows, std::int64_t columns) {
      multiply_add(1.0, a.block(i, j, rows, columns), factors.block(j, 0, columns, count),
                   result.block(i, 0, rows, count));
    });
  }
  template <class Use>
  void for_each_block(const Use& use) const {
    const bool banded = options_.form == MatrixForm::banded;
    const std::int64_t width =
        banded ? std::max<std::int64_t>(32, options_.below + options_.above) : n_;
    for (std::int64_t j = 0; j < n_; j += width) {
      const std::int64_t columns = std::min(width, n_ - j);
      const std::int64_t first = banded ? std::max<std::int64_t>(j - options_.above, 0) : 0;
      const std::int64_t end = banded ? std::min(j + columns + options_.below, n_) : n_;
      use(first, j, end - first, columns);
    }
  }

  // Of the column or the probe `id`: y is scaled back, and counts as C A^-1 does. False where x is
  // too large or too small for FP64.
  bool take(std::int64_t id, const T* y, double bound) {
    const auto scaled = [&](std::int64_t i) {
      return scales_ ? y[i] * std::ldexp(1., scales_->columns[entries(i)]) : y[i];
    };
    if (id >= x_.columns) {
      for (std::int64_t i = 0; i < n_; ++i) shown_ = std::max(shown_, largest_part(scaled(i)));
      return std::isfinite(shown_);
    }
    T* const x = x_.column(id);
    for (std::int64_t i = 0; i < n_; ++i) x[i] = scaled(i);
    const double size = largest_part(x, n_);
    if (size == 0 && largest_part(b_.column(id), n_) == 0) return true;
    if (!(size > small && std::isfinite(size))) return false;
    worst_ = std::max(worst_, bound / size);
    const double factor = std::ldexp(1., exponents_[entries(id)]);
    for (std::int64_t i = 0; i < n_; ++i) x[i] *= factor;
    const double result = largest_part(x, n_);
    return result > small && std::isfinite(result);
  }

  // Whether the errors of all x are below a part of their sizes, by what the probes have shown.
  bool leaves_a_digit() const { return 2 / seldom * root() * shown_ * worst_ < no_digit; }
  double root() const { return std::sqrt(static_cast<double>(numbers_)); }

  const FormOptions& options_;
  std::uint64_t seed_;
  MatrixView<const T> a_;  // from take_matrix() on scaled
  MatrixView<const T> b_;
  MatrixView<T> x_;
  std::int64_t n_;
  std::int64_t numbers_;  // of a vector: N
  bool few_;
  double tolerance_;
  std::optional<FormScales> scales_;
  std::vector<T> scaled_;
  std::vector<double> magnitudes_;  // of A, for few columns
  double norm_ = 0;                 // the largest sum of magnitudes of a row
  std::vector<T> sides_;            // of the columns that are not solved yet
  std::vector<int> exponents_;      // of the columns of B
  double shown_ = 0;                // the largest number of the probes' columns
  double worst_ = 0;                // the largest bound of a residual beside ||x||
};

}  // namespace

template <class T>
void make_whole(const FormOptions& options, MatrixView<T> a) {
  SPEEDWELL_EXPECTS(a.rows == a.columns);
  const std::int64_t n = a.rows;
  const bool upper =
      is_symmetric(options.form) ? !options.lower : options.form == MatrixForm::upper_triangular;
  const auto mirrored = [&](T v) {
    if constexpr (field_of<T> == Field::complex)
      return options.form == MatrixForm::symmetric ? v : std::conj(v);
    else
      return v;
  };
  switch (options.form) {
    case MatrixForm::general:
      return;
    case MatrixForm::symmetric:
    case MatrixForm::hermitian:
    case MatrixForm::positive_definite: {
      constexpr std::int64_t tile = 32;  // whose columns stay in the first-level cache
      for (std::int64_t c = 0; c < n; c += tile)
        for (std::int64_t r = c; r < n; r += tile)
          for (std::int64_t j = c; j < std::min(c + tile, n); ++j)
            for (std::int64_t i = std::max(r, j); i < std::min(r + tile, n); ++i) {
              T& below = a(i, j);
              T& above = a(j, i);
              if (i == j)
                below = options.form == MatrixForm::symmetric ? below : T(std::real(below));
              else
                (upper ? below : above) = mirrored(upper ? above : below);
            }
      return;
    }
    case MatrixForm::upper_triangular:
    case MatrixForm::lower_triangular:
      for (std::int64_t j = 0; j < n; ++j)
        std::fill(a.column(j) + (upper ? j + 1 : 0), a.column(j) + (upper ? n : j), T{});
      return;
    case MatrixForm::banded:
      for (std::int64_t j = 0; j < n; ++j) {
        std::fill(a.column(j), a.column(j) + std::max<std::int64_t>(j - options.above, 0), T{});
        std::fill(a.column(j) + std::min(j + options.below + 1, n), a.column(j) + n, T{});
      }
  }
}
template void make_whole(const FormOptions&, MatrixView<double>);
template void make_whole(const FormOptions&, MatrixView<std::complex<double>>);

template <class T>
int solve_form(const FormOptions& options, MatrixView<const T> a, MatrixView<const T> b,
               MatrixView<T> x, double tolerance, std::uint64_t seed) {
  SPEEDWELL_EXPECTS(a.rows == a.columns && b.rows == a.rows && x.rows == a.rows);
  SPEEDWELL_EXPECTS(b.columns == x.columns && !x.empty());
  return FormSolve<T>(options, a, b, x, tolerance, seed).run();
}
template int solve_form(const FormOptions&, MatrixView<const double>, MatrixView<const double>,
                        MatrixView<double>, double, std::uint64_t);
template int solve_form(const FormOptions&, MatrixView<const std::complex<double>>,
                        MatrixView<const std::complex<double>>, MatrixView<std::complex<double>>,
                        double, std::uint64_t);

}  // namespace speedwell
