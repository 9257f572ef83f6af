// SPDX-License-Identifier: BSD-3-Clause
#include "refine/forecast.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace speedwell {

namespace {

// The steps of GMRES by which its rate is judged, and the fewest and most steps before that.
constexpr std::size_t judged_steps = 4;
constexpr double most_unjudged = 12;
// The alternative to a refinement that is given up takes some corrections too.
constexpr double own_steps = 3;

}  // namespace

double Forecast::steps_needed(double ratio, double error) const {
  if (error <= tolerance_) return 0;
  if (!(ratio < 1)) return std::numeric_limits<double>::infinity();
  return ratio > 0 ? std::log(tolerance_ / error) / std::log(ratio) : 1;
}

double Forecast::worthwhile_steps() const {
  if (std::isinf(worth_)) return worth_;
  return own_steps + worth_ * solves / std::max(seconds(), 1e-9);
}

// A plateau that has just ended counts as ended.
double Forecast::steps_of_cycle(std::span<const double> residuals, double most,
                                double error) const {
  const std::size_t k = residuals.size() - 1;
  if (std::isinf(most) ||
      static_cast<double>(k) < std::clamp(most / 8, 1. * judged_steps, most_unjudged))
    return 0;
  const double last = residuals[k] / residuals[k - 1];
  const double average = std::pow(residuals[k] / residuals[k - judged_steps], 1. / judged_steps);
  return steps_needed(std::min(last, average), residuals[k] * error);
}

}  // namespace speedwell
