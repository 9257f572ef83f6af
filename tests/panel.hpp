// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Factors a panel with partial pivoting on one device, by the operations of the factorization.
#pragma once

#include <cstdint>

#include "core/numbers.hpp"
#include "device/device.hpp"

namespace speedwell::test {

/// Where the factorization of a panel writes its results, in device memory.
struct PanelOutcome {
  PivotCandidate* candidate = nullptr;  ///< scratch
  std::int64_t* pivots = nullptr;       ///< one for each column
  FactorStatus* status = nullptr;
};

/// Eliminates columns [begin, end) of the panel one after the other.
inline void eliminate_columns(Device& device, Queue& queue, AnyMatrix panel, std::int64_t begin,
                              std::int64_t end, const PanelOutcome& to) {
  const auto from = [&](std::int64_t i, std::int64_t j, std::int64_t columns) {
    return panel.block(i, j, panel.rows - i, columns);
  };
  device.find_pivot(queue, from(begin, begin, 1), to.candidate);
  for (std::int64_t j = begin; j < end; ++j) {
    device.take_pivot(queue, from(j, 0, panel.columns), j, to.candidate, {}, to.pivots + j,
                      to.status);
    device.eliminate(queue, panel.block(j, j, 1, end - j), from(j + 1, j, end - j), to.candidate);
  }
}

/// Eliminates columns [begin, end) of the panel by recursive halving down to `leaf` columns, so
/// that most of the work is products.
inline void factor_panel(Device& device, Queue& queue, AnyMatrix panel, std::int64_t begin,
                         std::int64_t end, std::int64_t leaf, const PanelOutcome& to) {
  const std::int64_t w = end - begin;
  if (w <= leaf) return eliminate_columns(device, queue, panel, begin, end, to);
  const std::int64_t h = round_up(w / 2, leaf);
  const std::int64_t middle = begin + h;
  const std::int64_t below = panel.rows - middle;
  factor_panel(device, queue, panel, begin, middle, leaf, to);
  const AnyMatrix u = panel.block(begin, middle, h, w - h);
  device.solve_unit_lower(queue, panel.block(begin, begin, h, h), u);
  device.subtract(queue, panel.block(middle, begin, below, h), u,
                  panel.block(middle, middle, below, w - h));
  factor_panel(device, queue, panel, middle, end, leaf, to);
}

}  // namespace speedwell::test
