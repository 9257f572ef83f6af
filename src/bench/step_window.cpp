// SPDX-License-Identifier: BSD-3-Clause
#include "bench/step_window.hpp"

#include <cmath>

#include "core/expects.hpp"

namespace speedwell {

std::optional<StepWindow> step_window(const StepSequence& steps, std::int64_t n, int lookahead,
                                      bool overlaps, std::int64_t columns) {
  SPEEDWELL_EXPECTS(columns >= 1);
  const auto begin = [&](std::int64_t step) {
    return step < steps.count() ? steps[step].begin.value : n;
  };
  // At the end of step k, all panels before panel applied(k) are applied to the whole matrix.
  const auto applied = [&](std::int64_t k) { return k - lookahead + (overlaps ? 0 : 1); };
  const std::int64_t first = std::int64_t{lookahead} + 1;
  std::int64_t last = first + 1;
  while (last < steps.count() && begin(applied(last)) - begin(applied(first)) < columns) ++last;
  if (last >= steps.count()) return std::nullopt;
  const auto operations = [&](std::int64_t k) {
    return 2. / 3 * std::pow(static_cast<double>(n - begin(applied(k))), 3);
  };
  return StepWindow{first, last, operations(first) - operations(last)};
}

}  // namespace speedwell
