// SPDX-License-Identifier: BSD-3-Clause
#include "solve/quick_solve.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <new>
#include <numeric>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include <speedwell/error.hpp>

#include "core/expects.hpp"
#include "core/interrupt.hpp"
#include "core/numbers.hpp"
#include "core/random.hpp"
#include "device/cpu/dense.hpp"
#include "device/cpu/expansion.hpp"
#include "device/device.hpp"
#include "host/floating_point.hpp"
#include "host/lapack.hpp"
#include "host/lapack_lu.hpp"
#include "host/process_seed.hpp"
#include "host/thread_scope.hpp"
#include "refine/refinement.hpp"
#include "refine/residual_sketch.hpp"
#include "setup/memory.hpp"
#include "solve/plain_lu.hpp"
#include "solve/plain_matrix.hpp"
#include "solve/small_solver.hpp"

namespace speedwell {

namespace {

template <class T, class Low>
class QuickSolve {
  static constexpr std::int64_t parts = parts_of(field_of<T>);
  static constexpr double seldom = 1e-3;  // the part of its size that a random product passes
  // Random vectors that show ||A^-1||: two products of random numbers with each row of it.
  static constexpr std::int64_t probes = parts == 1 ? 2 : 1;
  static constexpr int most_corrections = 8;  // of an x

 public:
  QuickSolve(const PlainSystem<T>& system, T* x, int threads, std::uint64_t seed,
             Interrupt* interrupt)
      : s_(system),
        seed_(seed),
        interrupt_(interrupt),
        threads_(threads),
        x_{x, system.n, system.count, system.n},
        a_(system),
        lu_(system.n, threads),
        tolerance_(default_tolerance(a_.numbers())) {}

  bool run() {
    const ThreadScope one(1);  // but for L and U
    if (!lu_.factor(a_, interrupt_) || !take_sides()) return false;
    return s_.count <= Device::few_vectors ? solve_few() : solve_many();
  }

 private:
  // X <- B. False if B has an Inf, a NaN or numbers near the ends of FP64's range.
  bool take_sides() {
    // Of a B by rows some at a time, which stay in the first-level cache.
    const std::int64_t rows =
        s_.row_stride == 1 ? s_.n : 128 / static_cast<std::int64_t>(sizeof(T));
    for (std::int64_t i = 0; i < s_.n; i += rows)
      for (std::int64_t k = 0; k < s_.count; ++k) {
        const T* const from = s_.b + i * s_.row_stride + k * s_.column_stride;
        T* const to = x_.column(k) + i;
        for (std::int64_t r = 0; r < std::min(rows, s_.n - i); ++r) to[r] = from[r * s_.row_stride];
      }
    for (std::int64_t k = 0; k < s_.count; ++k)
      of_b_.push_back(largest_number(side(k).data(), a_.numbers()));
    return std::ranges::none_of(of_b_, PlainLu<T, Low>::is_far);
  }

  bool solve_few() {
    std::vector<T> b(x_.data, x_.data + s_.n * s_.count);
    add_probes(b);
    std::vector<T> x = b;
    lu_.solve(x);
    if (!refine(b, x, 0)) return false;
    std::copy_n(x.data(), s_.n * s_.count, x_.data);
    return true;
  }

  void add_probes(std::vector<T>& v) const {
    const Probes random(seed_, ProbeUse::quick);
    for (std::size_t i = 0; i < entries(s_.n * probes); ++i) v.push_back(random.number<T>(i));
  }

  // What is known of a column of X: r = b - A x, and what its rounding may be.
  struct Column {
    double error;     // componentwise: the largest |r_i| / (|A| |x| + |b|)_i
    double residual;  // the largest |r_i|
    double bound;     // the largest |r_i| + (N + 1) eps (|A| |x| + |b|)_i
  };
  // (N + 1) eps: what a sum of N products and its difference from b lose, as a part of the
  // magnitudes.
  double lost() const { return static_cast<double>(a_.numbers() + 1) * eps; }
  // r <- b - A x, where r has A x.
  Column measured(const double* b, const double* abs_ax, double* r) const {
    const std::int64_t size = a_.numbers();
    Column found{};
    for (std::int64_t i = 0; i < size; ++i) {
      r[i] = b[i] - r[i];
      const double sum = abs_ax[i] + std::fabs(b[i]);
      const double magnitude = std::fabs(r[i]);
      if (!(magnitude <= found.error * sum)) found.error = magnitude / sum;
      found.residual = std::max(found.residual, magnitude);
      found.bound = std::max(found.bound, magnitude + lost() * sum);
    }
    return found;
  }
  // The same of a probe, by norms: `error` is the normwise one. `size` is the largest number of z.
  Column measured_by_norms(const double* v, double size, double* r) const {
    for (std::int64_t i = 0; i < a_.numbers(); ++i) r[i] = v[i] - r[i];
    const double residual = largest_number(r, a_.numbers());
    const double sum = a_.norm() * size + largest_number(v, a_.numbers());
    return {residual / sum, residual, residual + lost() * sum};
  }

  // Refines X until each x has a small componentwise backward error, or one that gets no smaller
  // and LAPACK's normwise error, and each probe's column a residual that tells ||A^-1||: probes
  // stand last. True if all do, and if by ||A^-1|| and the largest bound of a residual beside ||x||
  // every x has a digit.
  //
  // @param of_others that of others, but for the roundings of A x; 0 if there are none
  //
  // Let z be a probe's column, e = v - A z, and a the row of A^-1 with the largest 2-norm. But for
  // a probability of 2 `seldom`^2, |a v| >= `seldom` ||a||_2 for one of two products (docs/
  // numerics.md, 5.4); so where ||e||_2 is at most half of `seldom`, |a (v - e)| >= `seldom` / 2
  // ||a||_2, and that is an entry of z.
  bool refine(const std::vector<T>& b, std::vector<T>& x, double of_others) {
    const std::int64_t n = s_.n;
    const std::int64_t count = std::ssize(x) / n;
    std::vector<double> before(entries(count), std::numeric_limits<double>::infinity());
    std::vector<std::int64_t> open(entries(count));
    std::iota(open.begin(), open.end(), 0);
    double shown = 0;
    double worst = 0;
    for (int correction = 0; !open.empty(); ++correction) {
      std::vector<T> some;
      for (std::size_t i = 0; correction > 0 && i < open.size(); ++i)
        some.insert(some.end(), x.begin() + open[i] * n, x.begin() + (open[i] + 1) * n);
      const std::int64_t of_sides = std::ranges::lower_bound(open, count - probes) - open.begin();
      auto [r, abs_ax] = a_.multiply(correction > 0 ? some : x, of_sides);
      std::vector<std::int64_t> rest;
      std::vector<T> d;
      for (std::size_t place = 0; place < open.size(); ++place) {
        const std::int64_t k = open[place];
        const auto begin = static_cast<std::ptrdiff_t>(place) * a_.numbers();
        double* const r_k = r.data() + begin;
        const double* const b_k = numbers_of(b.data() + k * n);
        const double size = largest_number(numbers_of(x.data() + k * n), a_.numbers());
        const bool is_probe = k >= count - probes;
        const Column found = is_probe ? measured_by_norms(b_k, size, r_k)
                                      : measured(b_k, abs_ax.data() + begin, r_k);
        if (PlainLu<T, Low>::is_far(size) || !std::isfinite(found.bound)) return false;
        if (is_probe) {
          if (root() * found.bound <= seldom / 2) {
            shown = std::max(shown, size);
            continue;
          }
        } else if (found.error <= tolerance_ || stalls(found, before[entries(k)], b_k, size)) {
          if (found.bound != 0) worst = std::max(worst, found.bound / size);
          continue;
        }
        if (correction == most_corrections || !(found.error < before[entries(k)] / 2)) return false;
        before[entries(k)] = found.error;
        rest.push_back(k);
        const T* const r_entries = reinterpret_cast<const T*>(r_k);
        d.insert(d.end(), r_entries, r_entries + n);
      }
      open = std::move(rest);
      lu_.solve(d);
      for (std::size_t i = 0; i < d.size(); ++i)
        x[entries(open[i / entries(n)] * n) + i % entries(n)] += d[i];
    }
    if (of_others > 0) worst = std::max(worst, of_others + lost() * a_.norm());
    return leaves_a_digit(shown, worst);
  }

  // Whether every x has a digit, by the largest number of the probes' z and the largest bound of a
  // residual beside ||x||.
  bool leaves_a_digit(double shown, double worst) const {
    return 2 / seldom * root() * shown * worst < no_digit;
  }
  double root() const { return std::sqrt(static_cast<double>(a_.numbers())); }

  bool stalls(const Column& found, double before, const double* b, double size) const {
    const double normwise = found.residual / (a_.norm() * size + largest_number(b, a_.numbers()));
    return std::is_same_v<T, Low> && found.error >= before / 2 && found.error < before &&
           normwise <= tolerance_;
  }

  // Solved once, and each residual estimated by its products with random vectors W
  // (ResidualSketch): W^T (B - A X) = W^T B - (A^T W)^T X. Those of which it is too large are
  // refined, if they are few.
  bool solve_many() {
    const SharedProducts products(shared_lapack(threads_));
    const std::vector<double> w = random_vectors();
    const std::vector<double> a_w = transposed_product(w);
    std::vector<double> of_r(entries(combinations * s_.count));
    const MatrixView<double> found{of_r.data(), combinations, s_.count, combinations};
    multiply_add(1.0, vectors(w), sides(), found, Transpose::yes);
    if (!solve_sides()) return false;
    multiply_add(-1.0, vectors(a_w), sides(), found, Transpose::yes);
    const double frobenius = norm_of_combinations(a_w);
    double worst = 0;
    std::vector<std::int64_t> rest;
    for (std::int64_t k = 0; k < s_.count; ++k) {
      const double size = largest_number(side(k).data(), a_.numbers());
      if (PlainLu<T, Low>::is_far(size)) return false;
      const double r = ResidualSketch::certainty *
                       norm_of_combinations({found.column(k), entries(combinations)});
      const auto is_small = [&](double norm) {
        return r <= tolerance_ * (frobenius * norm + of_b_[entries(k)]);
      };
      if (!is_small(size) && !is_small(norm_of(side(k))))  // the norm takes longer
        rest.push_back(k);
      else if (size != 0)
        worst = std::max(worst, (r + lost() * of_b_[entries(k)]) / size);
    }
    if (rest.empty() && probes_show_digits(w, a_w, frobenius, worst)) return true;
    if (std::ssize(rest) > Device::few_vectors) return false;
    std::vector<T> b;
    for (const std::int64_t k : rest)
      for (std::int64_t i = 0; i < s_.n; ++i)
        b.push_back(s_.b[i * s_.row_stride + k * s_.column_stride]);
    add_probes(b);
    std::vector<T> x = b;
    lu_.solve(x);
    if (!refine(b, x, worst)) return false;
    for (std::size_t i = 0; i < rest.size(); ++i)
      std::copy_n(x.data() + static_cast<std::ptrdiff_t>(i) * s_.n, s_.n, x_.column(rest[i]));
    return true;
  }

  // As refine() decides by probes, whose residuals are estimated here: whether every x has a digit.
  // False, too, where the norms do not tell, which are larger than those of refine().
  bool probes_show_digits(const std::vector<double>& w, const std::vector<double>& a_w,
                          double frobenius, double of_sides) const {
    std::vector<T> v;
    add_probes(v);
    std::vector<T> z = v;
    lu_.solve(z);
    const std::int64_t size = a_.numbers();
    std::vector<double> of_r(entries(combinations * probes));
    const MatrixView<double> found{of_r.data(), combinations, probes, combinations};
    const auto columns = [&](const std::vector<T>& of) {
      return MatrixView<const double>{numbers_of(of.data()), size, probes, size};
    };
    multiply_add(1.0, vectors(w), columns(v), found, Transpose::yes);
    multiply_add(-1.0, vectors(a_w), columns(z), found, Transpose::yes);
    double shown = 0;
    for (std::int64_t k = 0; k < probes; ++k) {
      const auto norm = [&](const std::vector<T>& of) {
        return norm_of({columns(of).column(k), entries(size)});
      };
      const double most = largest_number(columns(z).column(k), size);
      const double r = ResidualSketch::certainty *
                       norm_of_combinations({found.column(k), entries(combinations)});
      if (PlainLu<T, Low>::is_far(most) ||
          !(r + lost() * (frobenius * norm(z) + norm(v)) <= seldom / 2))
        return false;
      shown = std::max(shown, most);
    }
    return leaves_a_digit(shown, of_sides + lost() * root() * frobenius);
  }

  // X <- A^-1 X, as many columns at once as take some tenths of a second.
  bool solve_sides() {
    constexpr double operations = 1e11;
    const auto each = 2. * static_cast<double>(parts * parts * s_.n * s_.n);
    const auto together = std::max<std::int64_t>(static_cast<std::int64_t>(operations / each), 1);
    for (std::int64_t k = 0; k < s_.count; k += together) {
      if (has_ended(interrupt_)) return false;
      lu_.solve({x_.column(k), entries(s_.n * std::min(together, s_.count - k))});
    }
    return true;
  }

  static constexpr std::int64_t combinations = ResidualSketch::combinations;

  MatrixView<const double> vectors(const std::vector<double>& v) const {
    return {v.data(), a_.numbers(), combinations, a_.numbers()};
  }
  std::span<const double> side(std::int64_t k) const {
    return {sides().column(k), entries(a_.numbers())};
  }
  MatrixView<const double> sides() const {
    return {numbers_of(x_.data), a_.numbers(), s_.count, a_.numbers()};
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
  // The 2-norm (of a matrix Frobenius's) of what has had products with the random vectors.
  static double norm_of_combinations(std::span<const double> v) {
    return norm_of(v) / std::sqrt(static_cast<double>(combinations));
  }
  // Numbers of variance 1. Of a complex A each second vector is i times the one before: their
  // products with a residual are as unlikely to be small as those of two random ones are
  // (docs/numerics.md, 5.6).
  std::vector<double> random_vectors() const {
    std::vector<double> w(entries(a_.numbers() * combinations));
    const Probes random(seed_, ProbeUse::sketch);
    for (std::int64_t c = 0; c < combinations; c += parts) {
      double* const to = w.data() + c * a_.numbers();
      for (std::int64_t i = 0; i < a_.numbers(); ++i)
        to[i] = std::sqrt(3.) * random.number(static_cast<std::uint64_t>(c * a_.numbers() + i));
    }
    turn_each_second(w);
    return w;
  }
  void turn_each_second(std::vector<double>& v) const {
    for (std::int64_t c = 0; parts == 2 && c < combinations; c += 2) {
      double* const first = v.data() + c * a_.numbers();
      times_i(first, a_.numbers(), first + a_.numbers());
    }
  }
  // A^T W, or A^H W, of `combinations` vectors.
  std::vector<double> transposed_product(const std::vector<double>& w) const {
    const bool is_transposed = a_.transpose() == Transpose::yes;
    std::vector<double> result(w.size());
    if constexpr (parts == 1) {
      multiply_add(1.0, a_.memory(), vectors(w), {result.data(), s_.n, combinations, s_.n},
                   is_transposed ? Transpose::no : Transpose::yes);
    } else {
      // As H^T (W, -i W), or as the conjugate of H re W - i H im W where H is that of A^T: two real
      // columns for each first vector of a pair.
      const std::int64_t in = is_transposed ? s_.n : 2 * s_.n;
      const std::int64_t out = is_transposed ? 2 * s_.n : s_.n;
      std::vector<double> factors(entries(in * combinations));
      std::vector<double> products(entries(out * combinations));
      for (std::int64_t c = 0; c < combinations; c += 2) {
        const double* const from = w.data() + c * a_.numbers();
        double* const re = factors.data() + c * in;
        double* const im = re + in;
        if (!is_transposed) {
          std::copy_n(from, in, re);
          times_i(from, in, im);
          for (std::int64_t i = 0; i < in; ++i) im[i] = -im[i];
        } else {
          for (std::int64_t i = 0; i < in; ++i) {
            re[i] = from[2 * i];
            im[i] = from[2 * i + 1];
          }
        }
      }
      multiply_add(1.0, a_.memory(), MatrixView<const double>{factors.data(), in, combinations, in},
                   MatrixView<double>{products.data(), out, combinations, out},
                   is_transposed ? Transpose::no : Transpose::yes);
      for (std::int64_t c = 0; c < combinations; c += 2) {
        const double* const re = products.data() + c * out;
        const double* const im = re + out;
        double* to = result.data() + c * a_.numbers();
        for (std::int64_t i = 0; i < s_.n; ++i, to += 2) {
          to[0] = is_transposed ? re[2 * i] + im[2 * i + 1] : re[i];
          to[1] = is_transposed ? im[2 * i] - re[2 * i + 1] : im[i];
        }
      }
      turn_each_second(result);
    }
    return result;
  }

  const PlainSystem<T>& s_;
  std::uint64_t seed_;
  Interrupt* interrupt_;
  int threads_;  // of the call
  MatrixView<T> x_;
  std::vector<double> of_b_;  // the largest number of each column of B
  PlainMatrix<T> a_;
  PlainLu<T, Low> lu_;
  double tolerance_;
};

// From this order on, an LU in FP32 and its corrections take less time than one in FP64.
template <class T>
constexpr std::int64_t first_low = field_of<T> == Field::real ? 200 : 150;

template <class T>
bool solve_plain(const PlainSystem<T>& system, T* x, int threads, std::uint64_t seed,
                 Interrupt* interrupt) {
  using Low = std::conditional_t<field_of<T> == Field::real, float, std::complex<float>>;
  if (system.n >= first_low<T> && system.count <= Device::few_vectors)
    return QuickSolve<T, Low>(system, x, threads, seed, interrupt).run();
  return QuickSolve<T, T>(system, x, threads, seed, interrupt).run();
}

// Up to this order, systems of any number of right-hand sides are solved here.
constexpr std::int64_t always_quick = 2000;

// Whether there is room for the factors. Those of smaller systems are not worth looking.
template <class T>
bool fits(const PlainSystem<T>& system) {
  constexpr double most = 0.8;  // of what is free
  if (system.n <= always_quick) return true;
  const double needed = static_cast<double>(sizeof(T)) * static_cast<double>(system.n * system.n);
  return needed <= most * static_cast<double>(allocatable_memory());
}

}  // namespace

std::int64_t quick_limit(Field field, std::int64_t count, int threads) {
  constexpr std::int64_t never = 8192;
  constexpr std::int64_t order_for_each = 64;
  if (!has_lapack()) return 0;
  if (count_gpus() > 0) return small_limit();
  if (count <= Device::few_vectors) return always_quick;
  // With factors in FP32 each right-hand side takes corrections. Together they cost what an LU in
  // FP32 saves from about n / 64 right-hand sides on.
  const std::int64_t most =
      std::clamp(order_for_each * std::min(count, never), always_quick, never);
  // One thread alone does parts of factor_pivoted(), for which more than two would wait.
  if (threads <= 2) return most;
  return shared_lapack(threads) != nullptr ? std::min(most, most_whole(field)) : always_quick;
}

template <class T>
bool quick_solve(const PlainSystem<T>& system, T* x, int threads, Interrupt* interrupt,
                 std::optional<std::uint64_t> seed) {
  SPEEDWELL_EXPECTS(system.n >= 1 && system.count >= 1);
  const FloatingPointScope floating_point;
  try {
    return fits(system) &&
           solve_plain(system, x, threads, seed ? *seed : process_seed(), interrupt);
  } catch (const std::bad_alloc&) {
    return false;  // a Solver says what is missing
  } catch (const Error&) {
    return false;  // or what is wrong
  }
}
template bool quick_solve(const PlainSystem<double>&, double*, int, Interrupt*,
                          std::optional<std::uint64_t>);
template bool quick_solve(const PlainSystem<std::complex<double>>&, std::complex<double>*, int,
                          Interrupt*, std::optional<std::uint64_t>);

}  // namespace speedwell
