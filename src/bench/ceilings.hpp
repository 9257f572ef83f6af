// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Rates that bound a run: products at the shapes of its updates.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/clock.hpp"
#include "setup/product_trial.hpp"

namespace lupine {

/// The update of a part of a run's steps, and their share of its operations.
struct UpdateShape {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t width = 0;
  double weight = 0;
};

/// A rank's updates while the trailing matrix shrinks, of a few sizes that stand for all. The
/// weights add up to 1.
/// @param nprow,npcol of the process grid
/// @param width columns of a step
/// @param largest rows and columns beyond this are left off: a product's rate does not change there
/// @pre all are at least 1
std::vector<UpdateShape> update_shapes(std::int64_t n, int nprow, int npcol, std::int64_t width,
                                       std::int64_t largest);

struct ProductRate {
  double run = 0;   ///< operations a second of all updates together
  double best = 0;  ///< of the best shape
  std::string best_shape{};
};
/// Takes about `seconds`, or longer where one product of each shape does.
/// @throws Fault where memory is short
ProductRate product_rate(Device& device, Product product, Precision precision,
                         std::span<const UpdateShape> shapes, double seconds, const Clock& clock);

}  // namespace lupine
