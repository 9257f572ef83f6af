// SPDX-License-Identifier: BSD-3-Clause
#include "device/cpu/triangular.hpp"

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <type_traits>
#include <vector>

#include "core/numbers.hpp"
#include "cpu/loops.hpp"
#include "device/cpu/dense.hpp"
#include "device/cpu/expansion.hpp"
#include "device/cpu/onednn.hpp"
#include "host/processor.hpp"

namespace lupine {

namespace {

// Elements of a strip that in FP32 fill half of an L2 cache of 1 MiB, beside their 16-bit copy.
constexpr std::int64_t least_strip = 131072;
// The number of operations from which several threads pay.
constexpr double threads_pay_from = 2e6;
// The order from which a 16-bit product saves more time than the rounding and the call cost.
constexpr std::int64_t least_rounded = 64;

// The same for this processor's cache. The larger a strip, the less often products read and pack
// the triangle.
std::int64_t strip_elements() {
  static const std::int64_t elements =
      std::max(least_strip, core_cache_bytes() / 2 / std::int64_t{sizeof(float)});
  return elements;
}

enum class Side { left, right };

/// A matrix, with a copy in BF16 if products read that.
template <class T>
struct Rounded {
  MatrixView<T> exact;
  MatrixView<Bfloat16> low;
  Rounded block(std::int64_t i, std::int64_t j, std::int64_t m, std::int64_t n) const {
    return {exact.block(i, j, m, n), low.block(i, j, m, n)};
  }
  void round(float sign) const {
    if constexpr (sizeof(T) == sizeof(float))
      for (std::int64_t j = 0; j < exact.columns; ++j)
        loops().to_bfloat16(exact.column(j), exact.rows, sign, low.column(j));
  }
};

template <Side side, class T>
class Solver {
 public:
  using Triangle = Rounded<const T>;  ///< its copy in BF16 is that of -1 times the triangle
  using Strip = Rounded<T>;

  Solver(MatrixView<const T> triangle, bool rounded)
      : rounded_(rounded && sizeof(T) == sizeof(float) && triangle.columns > least_rounded),
        memory_(rounded_ ? static_cast<std::size_t>(triangle.columns * triangle.columns) : 0),
        triangle_{triangle,
                  {memory_.data(), triangle.columns, triangle.columns, triangle.columns}} {
    if (rounded_) triangle_.round(-1);
  }

  void solve(MatrixView<T> b) const {
    const std::int64_t order = triangle_.exact.columns;
    const std::int64_t count = side == Side::left ? b.columns : b.rows;
    const double operations = static_cast<double>(order * order) * static_cast<double>(count);
    const int threads = operations < threads_pay_from ? 1 : omp_get_max_threads();
    const std::int64_t share = round_up(ceil_div(count, threads), 16);
    // A small problem does not ask for the processor's caches, which takes milliseconds once.
    const std::int64_t elements = order * share > least_strip ? strip_elements() : least_strip;
    const std::int64_t width = std::min(std::max<std::int64_t>(elements / order, 64), share);
    std::atomic<std::int64_t> next{0};
    const auto solve_strips = [&] {
      std::vector<Bfloat16> low(rounded_ ? static_cast<std::size_t>(order * width) : 0);
      for (std::int64_t begin; (begin = next.fetch_add(width)) < count;) {
        const std::int64_t n = std::min(width, count - begin);
        const auto strip =
            side == Side::left ? b.block(0, begin, order, n) : b.block(begin, 0, n, order);
        solve(triangle_, {strip, {low.data(), strip.rows, strip.columns, strip.rows}});
      }
    };
    // No parallel region for one thread: products inside one would make new teams each time.
    if (threads == 1) return solve_strips();
    std::exception_ptr failure;  // an exception must not leave the parallel region
#pragma omp parallel num_threads(threads)
    try {
      solve_strips();
    } catch (...) {
#pragma omp critical(lupine_triangular_failure)
      failure = std::current_exception();
    }
    if (failure) std::rethrow_exception(failure);
  }

 private:
  // Left: X_1 = L_11^-1 B_1, X_2 = L_22^-1 (B_2 - L_21 X_1); right: X_1 = B_1 U_11^-1,
  // X_2 = (B_2 - X_1 U_12) U_22^-1.
  void solve(const Triangle& t, const Strip& x) const {
    const std::int64_t n = t.exact.columns;
    if (n <= triangle_order) return solve_by_loop(t.exact, x.exact);
    const std::int64_t h = round_up(n / 2, triangle_order);
    const Strip first = part(x, 0, h);
    const Strip second = part(x, h, n - h);
    solve(t.block(0, 0, h, h), first);
    const Triangle between = side == Side::left ? t.block(h, 0, n - h, h) : t.block(0, h, h, n - h);
    subtract(between, first, second);
    solve(t.block(h, h, n - h, n - h), second);
  }

  static Strip part(const Strip& x, std::int64_t begin, std::int64_t count) {
    return side == Side::left ? x.block(begin, 0, count, x.exact.columns)
                              : x.block(0, begin, x.exact.rows, count);
  }

  static void solve_by_loop(MatrixView<const T> t, MatrixView<T> x) {
    const StorageLoops<T>& loop = loops().of<T>();
    side == Side::left ? loop.solve_left_lower(t, x) : loop.solve_right_upper(t, x);
  }

  // rest <- rest - t known, or rest - known t
  void subtract(const Triangle& t, const Strip& known, const Strip& rest) const {
    if constexpr (sizeof(T) == sizeof(float))
      if (rounded_ && std::min(t.exact.rows, t.exact.columns) >= least_rounded) {
        known.round(1);
        return side == Side::left ? onednn_multiply_add(t.low, known.low, rest.exact)
                                  : onednn_multiply_add(known.low, t.low, rest.exact);
      }
    side == Side::left ? multiply_add(T{-1}, t.exact, known.exact, rest.exact)
                       : multiply_add(T{-1}, known.exact, t.exact, rest.exact);
  }

  bool rounded_;
  std::vector<Bfloat16> memory_;
  Triangle triangle_;
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

}  // namespace lupine
