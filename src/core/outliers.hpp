// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Which of many measured numbers stand out.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace speedwell {

/// Which numbers of a quantity are good ones.
enum class Better { higher, lower };

/// The middle of some numbers, and how far they lie from it.
struct Spread {
  double median = 0;
  double deviation = 0;  ///< the median of |number - median|
};

/// Numbers that are not finite are left out; nothing where none is left.
std::optional<Spread> spread_of(std::span<const double> numbers);

/// What counts as worse than usual: more than the first two of these, or the third. Deviations are
/// medians, and not standard deviations, since one bad node among few would hide itself in those;
/// among four that share cores it can hide itself in the median deviation, too.
struct OutlierLimits {
  double part = 0.02;     ///< of the usual number
  double deviations = 6;  ///< of Spread::deviation
  double times = 4;       ///< so many times worse than usual, whatever the deviation
};

/// By which part of the usual number this one is worse: below it where higher is better, above it
/// where lower is; negative where it is better.
double shortfall(double number, double usual, Better better);

/// Whether the number is worse than usual beyond the limits; false if it is NaN.
bool is_outlier(double number, const Spread& usual, Better better, const OutlierLimits& limits);

/// Rounds of neighbours' pairs on a ring of `size` places: in each round, a place has one neighbour
/// at most, and in all rounds together every one that it has.
int pairing_rounds(int size);
/// The partner of a place in this round; nothing: it has none.
std::optional<int> partner(int place, int size, int round);

}  // namespace speedwell
