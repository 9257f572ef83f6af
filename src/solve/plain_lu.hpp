// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// L and U of a PlainMatrix.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "core/interrupt.hpp"
#include "device/cpu/pivoted_lu.hpp"
#include "host/lapack_lu.hpp"
#include "host/thread_scope.hpp"
#include "solve/plain_matrix.hpp"
#include "solve/small_solver.hpp"

namespace speedwell {

// L and U of A, with numbers of type Low: those of A divided by a power of two near their largest.
template <class T, class Low>
class PlainLu {
  using Number = decltype(std::abs(Low{}));
  static constexpr std::int64_t parts = parts_of(field_of<T>);
  static constexpr std::int64_t small = 128;  // the order up to which solve_pivoted() is faster
  static constexpr double far = 0x1p400;      // the largest number; 1 / far is the smallest one
  static constexpr double alike = 10;         // ratio of sizes of rows that LAPACK leaves alone
  // Real multiplications that one thread does sooner than several meet; fewer where they spin.
  static constexpr std::int64_t by_one_thread = 4'000'000;
  static constexpr std::int64_t by_one_beside_spinning = 500'000;

 public:
  PlainLu(std::int64_t n, int threads)
      : resources_(small_resources(field_of<T>, precision_of<Number>, n, threads)),
        threads_(threads),
        memory_(std::make_unique_for_overwrite<Number[]>(entries(parts * n * n))),
        lu_{reinterpret_cast<Low*>(memory_.get()), n, n, n},
        pivots_(entries(n)) {}

  /// False for an Inf or NaN, numbers near the ends of FP64's range, sizes of rows or columns that
  /// are not alike, and a pivot of zero.
  /// False, too, once `interrupt`, where it is not null, has ended.
  bool factor(const PlainMatrix<T>& a, Interrupt* interrupt) {
    const ThreadScope threads(resources_.threads);
    transpose_ = a.transpose();
    if (!take(a.memory())) return false;
    const bool regular = resources_.factor(lu_, pivots_, interrupt) < 0;
    return regular && !has_ended(interrupt);
  }

  /// V <- A^-1 V.
  void solve(std::span<T> v) const {
    const std::int64_t n = lu_.columns;
    const std::int64_t work = parts * parts * std::ssize(v) * n;
    const LapackRoutines* const shared =
        work < by_one_beside_spinning ? nullptr : shared_lapack(threads_);
    const bool one = work < (shared != nullptr ? by_one_beside_spinning : by_one_thread);
    const LapackRoutines* const lapack = one ? resources_.lapack : shared;
    const ThreadScope threads(one || lapack != nullptr ? 1 : threads_);
    if constexpr (std::is_same_v<T, Low>) {
      // Where preparing the triangles takes less time than that saves.
      const std::int64_t size = parts * parts * n;
      const std::int64_t count = std::ssize(v) / n;
      if (size <= small && 4 * count >= size)
        return solve_pivoted<T>(transpose_, lu_, pivots_, {v.data(), n, count, n});
      solve_by_lapack<Low>(transpose_, lu_, pivots_, v, lapack);
    } else {
      std::vector<Low> low(v.size());
      std::vector<double> scales;
      for (std::int64_t k = 0; k < std::ssize(v); k += n) {
        const double* const from = numbers_of(v.data() + k);
        scales.push_back(power_above(largest_number(from, parts * n)));
        for (std::int64_t i = 0; i < parts * n; ++i)
          numbers_of(low.data() + k)[i] = static_cast<Number>(from[i] / scales.back());
      }
      solve_by_lapack<Low>(transpose_, lu_, pivots_, std::span(low), lapack);
      for (std::int64_t k = 0; k < std::ssize(v); k += n)
        for (std::int64_t i = 0; i < parts * n; ++i)
          numbers_of(v.data() + k)[i] = static_cast<double>(numbers_of(low.data() + k)[i]) *
                                        (scale_ * scales[entries(k / n)]);
    }
  }

  static bool is_far(double most) { return !(most == 0 || (most <= far && most >= 1 / far)); }

 private:
  static double power_above(double value) {
    return value > 0 && std::isfinite(value) ? std::ldexp(1.0, std::ilogb(value) + 1) : 1.0;
  }

  bool take(MatrixView<const double> a) {
    const MatrixView<Number> lu{numbers_of(lu_.data), a.rows, a.columns, a.rows};
    std::vector<double> rows(entries(a.rows), 0.0);
    std::vector<double> some(rows.size());
    std::vector<double> columns(entries(a.columns));
    std::array<double, in_cache> factors{};
    for (std::int64_t j = 0; j < a.columns; j += in_cache) {
      const std::int64_t count = std::min(in_cache, a.columns - j);
      const auto block = a.block(0, j, a.rows, count);
      vector_loops().fp64.largest_of_columns(block, nullptr, columns.data() + j, {});
      vector_loops().largest_of_rows(block, nullptr, some.data(), {});
      for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = std::max(rows[i], some[i]);
      if (is_far(columns[0])) return false;
      // FP64 has no need of it.
      if (j == 0 && !std::is_same_v<T, Low>) scale_ = 1 / power_above(columns[0]);
      factors.fill(scale_);
      vector_loops().of<Number>().scale(block, nullptr, factors.data(),
                                        lu.block(0, j, a.rows, count));
    }
    for (std::size_t i = 0; parts == 2 && i < rows.size(); i += 2)
      rows[i] = rows[i + 1] = std::max(rows[i], rows[i + 1]);
    const auto [least_row, most_row] = std::ranges::minmax(rows);
    const auto [least_column, most_column] = std::ranges::minmax(columns);
    return most_row > 0 && !is_far(most_row) && least_row * alike >= most_row &&
           least_column * alike >= most_column;
  }

  SmallResources resources_;  // of L and U, and of a few right-hand sides
  int threads_;  // of the solves of many, where several threads are worth their meeting
  std::unique_ptr<Number[]> memory_;  // std::complex would be set to zero
  MatrixView<Low> lu_;
  std::vector<int> pivots_;
  Transpose transpose_ = Transpose::no;
  double scale_ = 1;  // of A in L U
};

}  // namespace speedwell
