// SPDX-License-Identifier: BSD-3-Clause
#include "solve/quick_solve.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <new>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "core/expects.hpp"
#include "core/numbers.hpp"
#include "core/random.hpp"
#include "core/scalar.hpp"
#include "cpu/vector_loops.hpp"
#include "device/cpu/dense.hpp"
#include "device/cpu/pivoted_lu.hpp"
#include "device/device.hpp"
#include "host/lapack.hpp"
#include "host/lapack_lu.hpp"
#include "host/thread_scope.hpp"
#include "refine/refinement.hpp"
#include "refine/residual_sketch.hpp"
#include "solve/small_solver.hpp"

namespace lupine {

namespace {

// Vectors of numbers: a complex entry is two, its real and its imaginary part. The system of the
// numbers is the real one of order N = n or 2 n (refine/pairs.hpp), and so are all norms.
template <class T>
class QuickSolve {
  static constexpr std::int64_t parts = parts_of(field_of<T>);
  static constexpr double far = 0x1p400;  // the largest number; 1 / far is the smallest one
  static constexpr double alike = 10;     // ratio of sizes of rows that LAPACK leaves alone
  static constexpr double insensitive =
      1e-3;                                  // growth eps ||A|| ||A^-1|| up to which L U tells A^-1
  static constexpr double no_digit = 0.5;    // an error as large as this part of x
  static constexpr double seldom = 1e-3;     // the part of its size that a random product passes
  static constexpr std::int64_t probes = 2;  // random vectors that show ||A^-1||
  static constexpr int most_corrections = 4;    // of an x
  static constexpr std::int64_t in_cache = 16;  // columns that several loops read in turn
  static constexpr std::int64_t by_one_thread = 4'000'000;  // multiplications
  static std::size_t size_of(std::int64_t n) { return static_cast<std::size_t>(n); }

 public:
  QuickSolve(const PlainSystem<T>& system, MatrixView<T> x, int threads)
      : s_(system),
        n_(system.n),
        x_(x),
        a_{reinterpret_cast<const double*>(system.a), parts * n_, n_, parts * system.lda},
        is_transposed_(system.order == StorageOrder::row_major),
        resources_(small_resources(field_of<T>, n_, threads)),
        of_many_{shared_lapack(threads), threads},
        lu_memory_(std::make_unique_for_overwrite<T[]>(size_of(n_ * n_))),
        lu_{lu_memory_.get(), n_, n_, n_},
        pivots_(size_of(n_)),
        tolerance_(default_tolerance(numbers())) {}

  bool run() {
    const ThreadScope threads(resources_.threads);
    if (!is_plain_and_copied() || !factor()) return false;
    // X <- B, and A X = V of random vectors V with it.
    return s_.count <= Device::few_vectors ? solve_few() : solve_many();
  }

 private:
  std::int64_t numbers() const { return parts * n_; }
  static double* numbers_of(T* v) { return reinterpret_cast<double*>(v); }
  static const double* numbers_of(const T* v) { return reinterpret_cast<const double*>(v); }
  double largest(const double* v, std::int64_t count) const {
    return loops().fp64.largest(v, count);
  }

  // lu <- the matrix in memory. False if it has an Inf or NaN, numbers near the ends of FP64's
  // range, or sizes of rows or columns that are not alike.
  bool is_plain_and_copied() {
    std::vector<double> rows(size_of(numbers()), 0.0);
    std::vector<double> some(rows.size());
    std::vector<double> columns(size_of(n_));
    for (std::int64_t j = 0; j < n_; j += in_cache) {
      const std::int64_t count = std::min(in_cache, n_ - j);
      const auto block = a_.block(0, j, a_.rows, count);
      for (std::int64_t k = 0; k < count; ++k)
        std::copy_n(s_.a + (j + k) * s_.lda, n_, lu_.column(j + k));
      vector_loops().largest_of_columns(block, nullptr, columns.data() + j, nullptr);
      vector_loops().largest_of_rows(block, nullptr, some.data(), nullptr);
      for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = std::max(rows[i], some[i]);
    }
    for (std::size_t i = 0; parts == 2 && i < rows.size(); i += 2)
      rows[i] = rows[i + 1] = std::max(rows[i], rows[i + 1]);
    const auto [least_row, most_row] = std::ranges::minmax(rows);
    const auto [least_column, most_column] = std::ranges::minmax(columns);
    largest_ = most_row;
    return largest_ <= far && largest_ >= 1 / far && least_row * alike >= most_row &&
           least_column * alike >= most_column;
  }

  bool factor() {
    const std::int64_t zero = [&] {
      if constexpr (field_of<T> == Field::real)
        if (resources_.lapack == nullptr) return factor_pivoted(lu_, pivots_);
      return factor_by_lapack(lu_, pivots_, resources_.lapack);
    }();
    if (zero >= 0) return false;
    double most = 0;
    for (std::int64_t j = 0; j < n_; ++j)
      most = std::max(most, largest(numbers_of(lu_.column(j)), parts * (j + 1)));
    unit_ = eps * std::max(most / largest_, 1.0);
    return std::isfinite(most);
  }

  // V <- A^-1 V.
  void solve(std::span<T> v) const {
    solve_by_lapack<T>(is_transposed_ ? Transpose::yes : Transpose::no, lu_, pivots_, v,
                       resources_.lapack);
  }

  // X <- A^-1 X, of many columns: by several threads where that is worth their meeting.
  void solve_all() const {
    const bool one = n_ * n_ * s_.count < by_one_thread;
    const SmallResources& by = one ? resources_ : of_many_;
    const ThreadScope threads(one || by.lapack != nullptr ? 1 : by.threads);
    solve_by_lapack<T>(is_transposed_ ? Transpose::yes : Transpose::no, lu_, pivots_,
                       std::span(x_.data, size_of(n_ * s_.count)), by.lapack);
  }

  // X <- B. False if B has an Inf, a NaN or numbers near the ends of FP64's range.
  bool take_sides() {
    for (std::int64_t j = 0; j < s_.count; j += in_cache)
      for (std::int64_t i = 0; i < n_; ++i)
        for (std::int64_t k = j; k < std::min(j + in_cache, s_.count); ++k)
          x_(i, k) = s_.b[i * s_.row_stride + k * s_.column_stride];
    return std::ranges::all_of(norms_of_sides(false), [](double most) {
      return most <= far && (most >= 1 / far || most == 0);
    });
  }

  // ax <- A x and abs_ax <- |A| |x|; in the first call also ||A||, the largest sum of a row of |A|.
  void multiply(const T* x) {
    const auto size = size_of(numbers());
    ax_.assign(size, 0.0);
    abs_ax_.assign(size, 0.0);
    abs_rows_.assign(norm_ == 0 ? size : 0, 0.0);
    double* const of_rows = norm_ == 0 ? abs_rows_.data() : nullptr;
    if constexpr (parts == 1) {
      const auto loop =
          is_transposed_ ? vector_loops().multiply_transposed : vector_loops().multiply;
      loop(a_, x, {ax_.data(), of_rows, abs_ax_.data()});
    } else {
      multiply_complex(numbers_of(x), of_rows);
    }
    for (const double sum : abs_rows_) norm_ = std::max(norm_, sum);
  }

  // With H, the matrix in memory as 2 n x n numbers: A x = H re x + i H im x, or, where H is that
  // of A^T, the real and the imaginary part of A x are H^T (re x, -im x) and H^T (im x, re x).
  void multiply_complex(const double* x, double* of_rows) {
    const auto n = size_of(n_);
    std::array<std::vector<double>, 2> factors{std::vector<double>(is_transposed_ ? 2 * n : n),
                                               std::vector<double>(is_transposed_ ? 2 * n : n)};
    std::array<std::vector<double>, 2> sums{std::vector<double>(2 * n), std::vector<double>(2 * n)};
    std::array<std::vector<double>, 2> magnitudes = sums;
    std::vector<double> rows(of_rows ? 2 * n : 0);
    for (std::size_t i = 0; i < n; ++i)
      if (is_transposed_) {
        factors[0][2 * i] = factors[1][2 * i + 1] = x[2 * i];
        factors[0][2 * i + 1] = -x[2 * i + 1];
        factors[1][2 * i] = x[2 * i + 1];
      } else {
        factors[0][i] = x[2 * i];
        factors[1][i] = x[2 * i + 1];
      }
    for (std::int64_t j = 0; j < n_; j += in_cache) {
      const auto block = a_.block(0, j, a_.rows, std::min(in_cache, n_ - j));
      const std::int64_t to = is_transposed_ ? j : 0;
      const std::int64_t from = is_transposed_ ? 0 : j;
      const auto loop =
          is_transposed_ ? vector_loops().multiply_transposed : vector_loops().multiply;
      for (std::size_t k = 0; k < 2; ++k)
        loop(block, factors[k].data() + from,
             {sums[k].data() + to, k == 0 && of_rows ? rows.data() + to : nullptr,
              magnitudes[k].data() + to});
    }
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t re = 2 * i;
      const std::size_t im = re + 1;
      if (is_transposed_) {
        ax_[re] = sums[0][i];
        ax_[im] = sums[1][i];
        abs_ax_[re] = magnitudes[0][i];
        abs_ax_[im] = magnitudes[1][i];
        if (of_rows) of_rows[re] = rows[i];
      } else {
        ax_[re] = sums[0][re] - sums[1][im];
        ax_[im] = sums[0][im] + sums[1][re];
        abs_ax_[re] = magnitudes[0][re] + magnitudes[1][im];
        abs_ax_[im] = magnitudes[0][im] + magnitudes[1][re];
        if (of_rows) of_rows[re] = rows[re] + rows[im];
      }
    }
  }

  // Each right-hand side by itself, refined until its componentwise backward error is small.
  bool solve_few() {
    if (!take_sides()) return false;
    const std::vector<T> b(x_.data, x_.data + n_ * s_.count);
    std::vector<T> together(size_of(n_ * (s_.count + probes)));
    std::ranges::copy(b, together.begin());
    put_probes(std::span(together).subspan(b.size()));
    solve(together);
    for (std::int64_t k = 0; k < s_.count; ++k)
      std::copy_n(together.data() + k * n_, n_, x_.column(k));
    double worst = 0;  // residual and rounding, beside x
    for (std::int64_t k = 0; k < s_.count; ++k) {
      const double error = refined(b.data() + k * n_, x_.column(k));
      if (!(error < std::numeric_limits<double>::infinity())) return false;
      worst = std::max(worst, error);
    }
    return is_certain(std::span(together).subspan(b.size()), worst);
  }

  // Refines x. Returns max_i (|r_i| + rounding_i) / ||x||; infinity if x is not accepted.
  double refined(const T* right, T* x) {
    const double* const b = numbers_of(right);
    const auto size = size_of(numbers());
    std::vector<T> d(size_of(n_));
    double* const r = numbers_of(d.data());
    double before = std::numeric_limits<double>::infinity();
    for (int correction = 0;; ++correction) {
      multiply(x);
      double error = 0;
      double most = 0;
      double most_r = 0;
      for (std::size_t i = 0; i < size; ++i) {
        r[i] = b[i] - ax_[i];
        const double bound = abs_ax_[i] + std::fabs(b[i]);
        if (r[i] != 0) error = std::max(error, std::fabs(r[i]) / bound);
        most_r = std::max(most_r, std::fabs(r[i]));
        most = std::max(most, std::fabs(r[i]) + static_cast<double>(numbers() + 1) * eps * bound);
      }
      const double x_size = largest(numbers_of(x), numbers());
      if (!(x_size <= far)) return std::numeric_limits<double>::infinity();
      if (error <= tolerance_) return most == 0 ? 0 : most / x_size;
      if (correction == most_corrections || !(error < before / 2)) {
        // As LAPACK's x: its normwise error is small, and its componentwise one cannot be.
        const double normwise = most_r / (norm_ * x_size + largest(b, numbers()));
        return normwise <= tolerance_ && error < before ? most / x_size
                                                        : std::numeric_limits<double>::infinity();
      }
      before = error;
      solve(d);
      for (std::int64_t i = 0; i < n_; ++i) x[i] += d[size_of(i)];
    }
  }

  void put_probes(std::span<T> v) const {
    double* const to = numbers_of(v.data());
    for (std::int64_t i = 0; i < numbers() * probes; ++i)
      to[i] = symmetric_number(probe_bits(0, static_cast<std::uint64_t>(i)));
  }

  // By ||A^-1||, from its products with random vectors, whether the factors tell it, and whether x
  // has a digit. A row of A^-1 times a random vector is below `seldom` times the row's 2-norm with
  // a probability of `seldom` sqrt(2), and the sum of the row's magnitudes is at most sqrt(N) times
  // that norm.
  bool is_certain(std::span<const T> products, double error) const {
    const double shown = largest(numbers_of(products.data()), numbers() * probes);
    const double inverse = std::sqrt(static_cast<double>(numbers())) / seldom * shown;
    return inverse * unit_ * norm_ < insensitive && inverse * error < no_digit;
  }

  // Solved once, and each residual estimated by its products with random vectors W
  // (ResidualSketch): W^T (B - A X) = W^T B - (A^T W)^T X.
  bool solve_many() {
    if (!take_sides()) return false;
    const std::vector<double> w = random_vectors();
    const std::vector<double> a_w = transposed_product(w);
    const std::vector<double> b_sizes = norms_of_sides(true);
    const std::vector<double> b_largest = norms_of_sides(false);
    std::vector<double> of_r(size_of(combinations * s_.count));
    const MatrixView<double> found{of_r.data(), combinations, s_.count, combinations};
    multiply_add(1.0, vectors(w), sides(), found, Transpose::yes);
    solve_all();
    multiply_add(-1.0, vectors(a_w), sides(), found, Transpose::yes);
    multiply(x_.data);
    const double frobenius = norm_of(a_w) / std::sqrt(static_cast<double>(combinations));
    const std::vector<double> x_sizes = norms_of_sides(true);
    const std::vector<double> x_largest = norms_of_sides(false);
    double worst = 0;
    std::int64_t refined_sides = 0;
    for (std::int64_t k = 0; k < s_.count; ++k) {
      const std::size_t i = size_of(k);
      const double r = ResidualSketch::certainty *
                       norm_of({found.column(k), size_of(combinations)}) /
                       std::sqrt(static_cast<double>(combinations));
      const double rounding =
          static_cast<double>(numbers() + 1) * eps * (norm_ * x_largest[i] + b_largest[i]);
      double error = x_largest[i] == 0 ? 0 : (r + rounding) / x_largest[i];
      if (!(r <= tolerance_ * (frobenius * x_sizes[i] + b_sizes[i]))) {
        if (++refined_sides > Device::few_vectors) return false;
        std::vector<T> b(size_of(n_));
        for (std::int64_t j = 0; j < n_; ++j)
          b[size_of(j)] = s_.b[j * s_.row_stride + k * s_.column_stride];
        error = refined(b.data(), x_.column(k));
      }
      if (!(x_largest[i] <= far && error <= far)) return false;
      worst = std::max(worst, error);
    }
    std::vector<T> products(size_of(n_ * probes));
    put_probes(products);
    solve(products);
    return is_certain(products, worst);
  }

  static constexpr std::int64_t combinations = ResidualSketch::combinations;

  MatrixView<const double> vectors(const std::vector<double>& v) const {
    return {v.data(), numbers(), combinations, numbers()};
  }
  MatrixView<const double> sides() const {
    return {numbers_of(x_.data), numbers(), s_.count, numbers()};
  }
  static double norm_of(std::span<const double> v) {
    // Several sums side by side: one addition would have to wait for the one before.
    std::array<double, 8> sums{};
    std::size_t i = 0;
    for (; i + sums.size() <= v.size(); i += sums.size())
      for (std::size_t k = 0; k < sums.size(); ++k) sums[k] += v[i + k] * v[i + k];
    for (; i < v.size(); ++i) sums[0] += v[i] * v[i];
    return std::sqrt(std::accumulate(sums.begin(), sums.end(), 0.0));
  }
  // Of each column of X: the 2-norm, or the largest number.
  std::vector<double> norms_of_sides(bool euclidean) const {
    std::vector<double> norms;
    for (std::int64_t k = 0; k < s_.count; ++k) {
      const double* const v = sides().column(k);
      norms.push_back(euclidean ? norm_of({v, size_of(numbers())}) : largest(v, numbers()));
    }
    return norms;
  }
  // Numbers of variance 1.
  std::vector<double> random_vectors() const {
    std::vector<double> w(size_of(numbers() * combinations));
    for (std::size_t i = 0; i < w.size(); ++i)
      w[i] = std::sqrt(3.) * symmetric_number(probe_bits(1, i));
    return w;
  }
  // A^T W, or A^H W, of `combinations` vectors.
  std::vector<double> transposed_product(const std::vector<double>& w) const {
    std::vector<double> result(w.size());
    if constexpr (parts == 1) {
      multiply_add(1.0, a_, vectors(w), {result.data(), n_, combinations, n_},
                   is_transposed_ ? Transpose::no : Transpose::yes);
    } else {
      // As H^T (W, -i W), or as the conjugate of H re W - i H im W where H is that of A^T.
      const std::int64_t in = is_transposed_ ? n_ : 2 * n_;
      const std::int64_t out = is_transposed_ ? 2 * n_ : n_;
      std::vector<double> factors(size_of(in * 2 * combinations));
      std::vector<double> products(size_of(out * 2 * combinations));
      const auto at = [](std::vector<double>& v, std::int64_t i) -> double& {
        return v[size_of(i)];
      };
      for (std::int64_t c = 0; c < combinations; ++c)
        for (std::int64_t i = 0; i < n_; ++i) {
          const double re = w[size_of(2 * (c * n_ + i))];
          const double im = w[size_of(2 * (c * n_ + i) + 1)];
          if (is_transposed_) {
            at(factors, 2 * c * n_ + i) = re;
            at(factors, (2 * c + 1) * n_ + i) = im;
          } else {
            at(factors, 4 * c * n_ + 2 * i) = re;
            at(factors, 4 * c * n_ + 2 * i + 1) = im;
            at(factors, (4 * c + 2) * n_ + 2 * i) = im;
            at(factors, (4 * c + 2) * n_ + 2 * i + 1) = -re;
          }
        }
      multiply_add(1.0, a_, MatrixView<const double>{factors.data(), in, 2 * combinations, in},
                   MatrixView<double>{products.data(), out, 2 * combinations, out},
                   is_transposed_ ? Transpose::no : Transpose::yes);
      for (std::int64_t c = 0; c < combinations; ++c)
        for (std::int64_t i = 0; i < n_; ++i) {
          double& re = at(result, 2 * (c * n_ + i));
          double& im = at(result, 2 * (c * n_ + i) + 1);
          if (is_transposed_) {
            re = at(products, 4 * c * n_ + 2 * i) + at(products, (4 * c + 2) * n_ + 2 * i + 1);
            im = at(products, (4 * c + 2) * n_ + 2 * i) - at(products, 4 * c * n_ + 2 * i + 1);
          } else {
            re = at(products, 2 * c * n_ + i);
            im = at(products, (2 * c + 1) * n_ + i);
          }
        }
    }
    return result;
  }

  const PlainSystem<T>& s_;
  std::int64_t n_;
  MatrixView<T> x_;
  MatrixView<const double> a_;  // the numbers of the matrix in memory
  bool is_transposed_;          // that is A^T
  SmallResources resources_;    // of L and U, and of all else
  SmallResources of_many_;      // of the solves of many right-hand sides
  std::unique_ptr<T[]> lu_memory_;
  MatrixView<T> lu_;
  std::vector<int> pivots_;
  double tolerance_;
  double largest_ = 0;  // of A's numbers
  double unit_ = 0;     // eps times the growth of the entries in the LU
  double norm_ = 0;     // ||A||; 0: not known yet
  std::vector<double> ax_;
  std::vector<double> abs_ax_;
  std::vector<double> abs_rows_;
};

}  // namespace

std::int64_t quick_limit(int threads) {
  return has_lapack() ? small_limit(shared_lapack(threads) != nullptr && count_gpus() == 0) : 0;
}

template <class T>
std::unique_ptr<T[]> quick_solve(const PlainSystem<T>& system, int threads) {
  LUPINE_EXPECTS(system.n >= 1 && system.count >= 1);
  try {
    const auto [n, count] = std::pair(system.n, system.count);
    auto x = std::make_unique_for_overwrite<T[]>(static_cast<std::size_t>(n * count));
    if (QuickSolve<T>(system, {x.get(), n, count, n}, threads).run()) return x;
  } catch (const std::bad_alloc&) {
    // A Solver says what is missing.
  }
  return nullptr;
}
template std::unique_ptr<double[]> quick_solve(const PlainSystem<double>&, int);
template std::unique_ptr<std::complex<double>[]> quick_solve(
    const PlainSystem<std::complex<double>>&, int);

}  // namespace lupine
