// SPDX-License-Identifier: BSD-3-Clause
#include "core/outliers.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "core/expects.hpp"

namespace speedwell {

namespace {

/// @pre there are numbers
double median_of(std::vector<double> numbers) {
  const auto middle = numbers.begin() + std::ssize(numbers) / 2;
  std::nth_element(numbers.begin(), middle, numbers.end());
  if (numbers.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(numbers.begin(), middle)) / 2;
}

}  // namespace

std::optional<Spread> spread_of(std::span<const double> numbers) {
  std::vector<double> known;
  std::ranges::copy_if(numbers, std::back_inserter(known), [](double x) { return x - x == 0; });
  if (known.empty()) return std::nullopt;
  const double median = median_of(known);
  for (double& number : known) number = std::abs(number - median);
  return Spread{median, median_of(known)};
}

double shortfall(double number, double usual, Better better) {
  const double above = number / usual - 1;
  return better == Better::higher ? -above : above;
}

bool is_outlier(double number, const Spread& usual, Better better, const OutlierLimits& limits) {
  const double times = better == Better::higher ? usual.median / number : number / usual.median;
  const bool beyond = std::abs(number - usual.median) > limits.deviations * usual.deviation;
  return times > limits.times || (shortfall(number, usual.median, better) > limits.part && beyond);
}

int pairing_rounds(int size) {
  return size < 3 ? size - 1 : 2 + size % 2;
}

// Edge i of the ring joins places i and i + 1. Even edges are round 0 and odd ones round 1, but for
// the edge that closes a ring of odd size: it would meet another one of round 0.
std::optional<int> partner(int place, int size, int round) {
  SPEEDWELL_EXPECTS(0 <= place && place < size && round < pairing_rounds(size));
  const int before = (place + size - 1) % size;
  for (const int edge : {place, before})
    if (round == (size % 2 == 1 && edge == size - 1 ? 2 : edge % 2))
      return edge == place ? (place + 1) % size : before;
  return std::nullopt;
}

}  // namespace speedwell
