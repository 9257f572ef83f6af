// SPDX-License-Identifier: BSD-3-Clause
#include "core/option_range.hpp"

#include <cmath>

#include "core/option_text.hpp"

namespace speedwell {

std::string range_text(const OptionRange& range, std::uint64_t largest) {
  const auto limit = [](double value) { return option_text(static_cast<std::uint64_t>(value)); };
  if (largest != 0)
    return "a whole number from " + limit(range.from) + " to " +
           (std::isinf(range.to) ? option_text(largest) : limit(range.to));
  std::string text = std::string(range.unit) + (range.unit.empty() ? "a number" : ", a number");
  if (std::isfinite(range.from))
    text += (range.above ? " above " : " of at least ") + option_text(range.from);
  if (std::isfinite(range.to))
    text += (range.below ? ", below " : ", at most ") + option_text(range.to);
  return text;
}

}  // namespace speedwell
