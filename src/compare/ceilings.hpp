// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Upper bounds of a run's rate: products alone, at the shapes of the run's updates.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/clock.hpp"
#include "setup/product_trial.hpp"

namespace speedwell {

/// The shape of the updates in some steps of a run, and these steps' part of its operations.
struct UpdateShape {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t width = 0;
  double weight = 0;
};

/// A few shapes that stand for all updates of a rank while the trailing matrix shrinks. The weights
/// add up to 1.
/// @param nprow,npcol shape of the process grid
/// @param width columns of a step
/// @param largest limit of rows and columns: larger products have the same rate
/// @pre all arguments are at least 1
std::vector<UpdateShape> update_shapes(std::int64_t n, int nprow, int npcol, std::int64_t width,
                                       std::int64_t largest);

/// The rate of this rank's device in products of these shapes, in operations a second over all of
/// them by their weights. Takes about `seconds`, or longer where a few products of each shape take
/// longer.
/// @throws Fault where memory is short
double product_rate(Device& device, Product product, Precision precision,
                    std::span<const UpdateShape> shapes, double seconds, const Clock& clock);

}  // namespace speedwell
