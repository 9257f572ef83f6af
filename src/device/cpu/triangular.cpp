// SPDX-License-Identifier: BSD-3-Clause
#include "device/cpu/triangular.hpp"

#include <omp.h>

#include <algorithm>
#include <optional>
#include <type_traits>
#include <vector>

#include "core/numbers.hpp"
#include "cpu/loops.hpp"
#include "device/cpu/dense.hpp"
#include "device/cpu/expansion.hpp"
#include "device/cpu/parts.hpp"
#include "device/cpu/tile_product.hpp"
#include "host/processor.hpp"
#include "host/threads.hpp"

namespace speedwell {

namespace {

// Elements of a strip that in FP32 fill half of an L2 cache of 1 MiB, beside their 16-bit copy.
constexpr std::int64_t least_strip = 131072;
// The number of operations from which several threads pay.
constexpr double threads_pay_from = 2e6;
// The rows and columns from which a 16-bit product saves more time than the rounding costs.
constexpr std::int64_t least_rounded = 64;

// The same for this processor's cache. The larger a strip, the less often products read and pack
// the triangle.
std::int64_t strip_elements() {
  static const std::int64_t elements =
      std::max(least_strip, core_cache_bytes() / 2 / std::int64_t{sizeof(float)});
  return elements;
}

// round(sign * from) and zeros in so many columns, one right after the other.
void round(MatrixView<const float> from, float sign, std::int64_t columns, Bfloat16* to) {
  for (std::int64_t j = 0; j < from.columns; ++j)
    loops().to_bfloat16(from.column(j), from.rows, sign, to + j * from.rows);
  std::fill_n(to + from.rows * from.columns, from.rows * (columns - from.columns), Bfloat16{});
}

enum class Side { left, right };

// A recursive solve takes so many columns of a triangle first.
std::int64_t first_columns(std::int64_t order) {
  return round_up(order / 2, triangle_order);
}

/// The part of a triangle by which a recursive solve multiplies what it has found first.
template <Side side, class T>
MatrixView<const T> between(MatrixView<const T> t) {
  const std::int64_t h = first_columns(t.columns);
  const std::int64_t rest = t.columns - h;
  return side == Side::left ? t.block(h, 0, rest, h) : t.block(0, h, h, rest);
}

/// The larger of these parts, times -1 and rounded to BF16, as multiply_tile() reads them: from the
/// left as its A, from the right as its B.
template <Side side>
class RoundedParts {
 public:
  /// @param memory for the parts, which must stay
  RoundedParts(MatrixView<const float> triangle, TileVector<Bfloat16>& memory)
      : memory_(room(memory, plan(triangle, 0, 0))) {
    for_each_in_threads(static_cast<std::int64_t>(parts_.size()),
                        [&](std::int64_t p) { fill(parts_[static_cast<std::size_t>(p)]); });
  }

  /// The part that multiplies the columns up to `split`; null if it is not rounded.
  const Bfloat16* find(std::int64_t split) const {
    const auto part = std::ranges::find(parts_, split, &Part::split);
    return part == parts_.end() ? nullptr : memory_ + part->place;
  }

 private:
  struct Part {
    std::int64_t split = 0;
    MatrixView<const float> values;
    std::int64_t place = 0;  // of its first element in memory_
  };

  // Places the parts of t, whose first column is `begin` of the triangle, from `place` on.
  // @return the place behind them
  std::int64_t plan(MatrixView<const float> t, std::int64_t begin, std::int64_t place) {
    if (t.columns <= triangle_order) return place;
    const std::int64_t h = first_columns(t.columns);
    const MatrixView<const float> values = between<side>(t);
    if (std::min(values.rows, values.columns) >= least_rounded) {
      parts_.push_back({begin + h, values, place});
      place += side == Side::left ? packed_elements(values.rows, values.columns)
                                  : values.rows * round_up(values.columns, tile_unit);
    }
    place = plan(t.block(0, 0, h, h), begin, place);
    return plan(t.block(h, h, t.columns - h, t.columns - h), begin + h, place);
  }

  void fill(const Part& part) {
    const MatrixView<const float>& values = part.values;
    Bfloat16* to = memory_ + part.place;
    if constexpr (side == Side::right)
      return round(values, -1, round_up(values.columns, tile_unit), to);
    thread_local TileVector<Bfloat16> memory;
    Bfloat16* rounded = room(memory, values.rows * values.columns);
    round(values, -1, values.columns, rounded);
    pack_tile({rounded, values.rows, values.columns, values.rows}, to);
  }

  std::vector<Part> parts_;
  Bfloat16* memory_;
};

template <Side side, class T>
class Solver {
 public:
  Solver(MatrixView<const T> triangle, bool rounded) : triangle_(triangle) {
    if constexpr (sizeof(T) == sizeof(float))
      if (rounded && triangle.columns > least_rounded && tiles_exist()) {
        thread_local TileVector<Bfloat16> memory;
        rounded_.emplace(triangle, memory);
      }
  }

  void solve(MatrixView<T> b) const {
    const std::int64_t order = triangle_.columns;
    const std::int64_t count = side == Side::left ? b.columns : b.rows;
    const double operations = static_cast<double>(order * order) * static_cast<double>(count);
    const int threads = operations < threads_pay_from ? 1 : omp_get_max_threads();
    const std::int64_t share = round_up(ceil_div(count, threads), 16);
    // A small problem does not ask for the processor's caches, which takes milliseconds once.
    const std::int64_t elements = order * share > least_strip ? strip_elements() : least_strip;
    const std::int64_t width =
        std::min(std::max(elements / order / tile_unit, std::int64_t{1}) * tile_unit, share);
    for_each_in_threads(ceil_div(count, width), threads, [&](std::int64_t piece) {
      const std::int64_t begin = piece * width;
      const std::int64_t n = std::min(width, count - begin);
      solve(triangle_, 0,
            side == Side::left ? b.block(0, begin, order, n) : b.block(begin, 0, n, order));
    });
  }

 private:
  // Left: X_1 = L_11^-1 B_1, X_2 = L_22^-1 (B_2 - L_21 X_1); right: X_1 = B_1 U_11^-1,
  // X_2 = (B_2 - X_1 U_12) U_22^-1. `begin` is the place of t in the whole triangle.
  void solve(MatrixView<const T> t, std::int64_t begin, MatrixView<T> x) const {
    const std::int64_t n = t.columns;
    if (n <= triangle_order) return solve_by_loop(t, x);
    const std::int64_t h = first_columns(n);
    const MatrixView<T> first = part(x, 0, h);
    const MatrixView<T> second = part(x, h, n - h);
    solve(t.block(0, 0, h, h), begin, first);
    subtract(between<side>(t), begin + h, first, second);
    solve(t.block(h, h, n - h, n - h), begin + h, second);
  }

  static MatrixView<T> part(MatrixView<T> x, std::int64_t begin, std::int64_t count) {
    return side == Side::left ? x.block(begin, 0, count, x.columns)
                              : x.block(0, begin, x.rows, count);
  }

  static void solve_by_loop(MatrixView<const T> t, MatrixView<T> x) {
    const StorageLoops<T>& loop = loops().of<T>();
    side == Side::left ? loop.solve_left_lower(t, x) : loop.solve_right_upper(t, x);
  }

  // rest <- rest - t known, or rest - known t
  void subtract(MatrixView<const T> t, std::int64_t split, MatrixView<T> known,
                MatrixView<T> rest) const {
    if constexpr (sizeof(T) == sizeof(float))
      if (const Bfloat16* low = rounded_ ? rounded_->find(split) : nullptr)
        return add_rounded(low, known, rest);
    side == Side::left ? multiply_add(T{-1}, t, known, rest) : multiply_add(T{-1}, known, t, rest);
  }

  // rest <- rest + low round(known), or rest + round(known) low
  static void add_rounded(const Bfloat16* low, MatrixView<float> known, MatrixView<float> rest) {
    thread_local TileVector<Bfloat16> known_memory, packed_memory;
    thread_local TileVector<float> product_memory;
    const std::int64_t m = round_up(rest.rows, tile_unit);
    const std::int64_t n = round_up(rest.columns, tile_unit);
    float* product = room(product_memory, m * n);
    if constexpr (side == Side::left) {
      Bfloat16* rounded = room(known_memory, known.rows * n);
      round(known, 1, n, rounded);
      multiply_tile({m, n, known.rows}, low, rounded, product);
    } else {
      Bfloat16* rounded = room(known_memory, known.rows * known.columns);
      Bfloat16* packed = room(packed_memory, packed_elements(m, known.columns));
      round(known, 1, known.columns, rounded);
      pack_tile({rounded, known.rows, known.columns, known.rows}, packed);
      multiply_tile({m, n, known.columns}, packed, low, product);
    }
    add_tile(product, m, rest);
  }

  MatrixView<const T> triangle_;
  std::optional<RoundedParts<side>> rounded_;
};

}  // namespace

template <class T>
void solve_left_lower(MatrixView<const T> lu, MatrixView<T> b, bool rounded) {
  if (b.empty()) return;
  if constexpr (field_of<T> == Field::complex) {
    // E(L) is unit lower triangular too: a 1 on the diagonal becomes a 2 x 2 identity.
    using Real = typename T::value_type;
    thread_local std::vector<Real> memory;
    const MatrixView<Real> expanded_lu = expanded<Real>(lu, memory);
    for (std::int64_t j = 0; j < lu.columns; ++j) expanded_lu(2 * j + 1, 2 * j) = 0;
    solve_left_lower<Real>(expanded_lu, pairs_of<Real>(b), rounded);
  } else {
    Solver<Side::left, T>(lu, rounded).solve(b);
  }
}
template <class T>
void solve_right_upper(MatrixView<const T> lu, MatrixView<T> b, bool rounded) {
  if (!b.empty()) Solver<Side::right, T>(lu, rounded).solve(b);
}

template void solve_left_lower(MatrixView<const float>, MatrixView<float>, bool);
template void solve_left_lower(MatrixView<const double>, MatrixView<double>, bool);
template void solve_left_lower(MatrixView<const std::complex<float>>,
                               MatrixView<std::complex<float>>, bool);
template void solve_left_lower(MatrixView<const std::complex<double>>,
                               MatrixView<std::complex<double>>, bool);
template void solve_right_upper(MatrixView<const float>, MatrixView<float>, bool);

}  // namespace speedwell
