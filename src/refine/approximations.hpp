// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The approximations of some solutions while they are refined, and how fast they become better.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/numbers.hpp"
#include "refine/refinement.hpp"
#include "refine/vectors.hpp"

namespace speedwell {

/// A correction is slow if the error stays above this part of the least error before it.
inline constexpr double slow_ratio = 0.5;

/// Counts the successive errors that were more than half of the least error before them.
struct Slowness {
  int times = 0;  ///< in succession
  double before = std::numeric_limits<double>::infinity();

  void add(double error) {
    times = error <= slow_ratio * before ? 0 : times + 1;
    before = std::min(before, error);
  }
};

/// The error that x + low may have beside the rounding of x.
inline constexpr double rest_allowed = eps / 8;
/// Corrections above this part of x tell no rate.
inline constexpr double unsettled = 0.25;

/// The relative sizes of the successive corrections of one x, by which its error is known. The
/// error that is left after one of the size s is at most s q + s q^2 + ..., q being the largest
/// rate so far (J. Demmel et al., ACM Trans. Math. Softw. 32, 2006); a rate is the ratio of two
/// sizes, and that of the residuals after and before the last correction, which is the next one's
/// in advance.
struct Corrections {
  int count = 0;
  double size = std::numeric_limits<double>::infinity();  ///< of the last one
  double rate = 0;                                        ///< of two or more
  double rest = std::numeric_limits<double>::infinity();  ///< bound of the error that is left
  bool shrinks = true;                                    ///< the last one by half or more
  bool smaller = true;                                    ///< the last one at all

  bool done() const { return rest <= rest_allowed; }
  bool settled() const { return size <= unsettled; }
  /// The corrections that are still needed at this rate.
  double needed() const { return done() ? 0 : std::log(rest_allowed / rest) / std::log(rate); }

  void add(double next, double residuals) {
    shrinks = next <= slow_ratio * size;
    smaller = next <= size;
    if (next <= unsettled && count > 0)
      rate = std::max({rate, residuals, next / std::min(size, 1.)});
    ++count;
    size = next;
    // An error once small stays so: later corrections are of roundings, at no rate.
    if (done()) return;
    if (next == 0)
      rest = 0;
    else if (count > 1 && settled() && rate <= slow_ratio)
      rest = next * rate / (1 - rate);
  }
};

/// The sizes of the corrections d that some approximations have become x by. Equal on every rank.
struct CorrectionSizes {
  Vector norms;       ///< ||d||
  Vector weighted{};  ///< ||W d|| / ||W x||
  Vector x{};         ///< ||W x||
  Vector entries{};   ///< max_i |d_i| / |x_i|
};
/// Collective. @param weights the diagonal of W, along columns, of which the largest is about 1;
/// empty: ones
CorrectionSizes correction_sizes(const System& system, const MultiVector& x, const MultiVector& d,
                                 const Vector& weights);

/// The present approximations of some right-hand sides, which are corrected together.
struct Block {
  std::vector<std::int64_t> numbers;  ///< of the right-hand sides
  MultiVector b;
  MultiVector x;
  MultiVector low;       ///< with `forward`: x + low is the approximation, x its rounding
  MultiVector r;         ///< b - A x
  MultiVector extended;  ///< with `forward`: b - A (x + low)
  MultiVector bound;     ///< |A| |x| + |b|, for the x of some corrections ago
  Vector moved;          ///< the norms of the corrections since then, added up
  /// The checksums of x and b for which the residuals were computed or updated; nothing of an x
  /// that changed between corrections.
  VectorChecksums x_read;
  VectorChecksums b_read;

  Block() = default;
  /// x = 0 of `size` local entries for these right-hand sides of b. @param forward with `low`
  Block(const MultiVector& all_b, std::int64_t size, std::vector<std::int64_t> its_numbers,
        bool forward);
  std::int64_t count() const { return std::ssize(numbers); }
  /// What the next correction is solved for.
  const MultiVector& residual() const { return extended.count() > 0 ? extended : r; }
  /// Whether these rows of `bound` are those of the present x to two digits:
  ///     | |A| |x| - |A| |x'| |_i <= (sum_j |a_ij|) ||x - x'||.
  bool bounds_hold(const Vector& row_sums) const;
  /// x <- x + D, of which x + low keeps what the rounding loses.
  void add(const MultiVector& d);
  /// extended <- extended - A D, after add(D), and r <- extended + A low.
  void subtract(const MultiVector& a_d, const MultiVector& a_low);
  /// outcome.x_read and b_read of the vectors in this place.
  void tell_read(RefineOutcome& outcome, std::int64_t place) const {
    outcome.x_read = x_read[static_cast<std::size_t>(place)];
    outcome.b_read = b_read[static_cast<std::size_t>(place)];
  }
  /// Keeps the right-hand sides in these places, which ascend.
  void keep(const std::vector<std::int64_t>& places);
};

/// The errors by StopRule::benchmark. Collective.
Vector scaled_residuals(System& system, const Block& block);

/// One right-hand side while it is refined.
struct RefinedColumn {
  double error = 0;  ///< of the present x, by the stop rule
  Slowness slow{};
  RefineOutcome outcome{};  ///< whose x and error are those of the best x
  bool measured = false;    ///< whether outcome.residual and bound are those of its x
  // With `forward`:
  double residual = 0;    ///< ||b - A (x + low)|| of the present x
  Corrections norm{};     ///< in the weighted norm
  Corrections entries{};  ///< the largest of an entry beside that entry
  bool bounded = true;    ///< whether the bound of its error in norm is as small, once `norm` is
  int updates = 0;        ///< since `extended` was computed from x (Block::subtract())
  double drift = 0;       ///< RefineOutcome::drift of the present x

  bool finite() const { return std::isfinite(error); }
  /// Takes the block's x in this place with all that was measured of it, if it is the best one.
  void leave(const Block& block, std::int64_t place);
};

}  // namespace speedwell
