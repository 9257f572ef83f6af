/// @file
/// Numbers that were found by measuring, in one place.
#pragma once

#include <lupine/options.hpp>

#include <cstdint>

#include "grid/grid_shape.hpp"

namespace lupine {

/// Block size where the user gave none. Large enough for the update to run at its full rate, small
/// enough that a small problem still has blocks for every rank and steps to overlap.
/// @param native whether the update has instructions of its own for this precision
/// @pre n >= 1
std::int64_t default_nb(std::int64_t n, Precision precision, DeviceKind device, bool native,
                        const GridShape& shape);

/// Of the free memory, what a chosen n may take. A GPU's memory is nobody else's.
constexpr double default_memory_fraction(DeviceKind device) {
  return device == DeviceKind::cuda ? 0.95 : 0.8;
}

/// Columns at which the recursion of a pivoted panel ends, where the user gave none.
constexpr int default_leaf(DeviceKind device) {
  return device == DeviceKind::cuda ? 32 : 16;
}

/// Of the update's rate, what a whole run reaches: bounds n for a time target. With pivoting, rows
/// are exchanged too.
constexpr double typical_efficiency(Pivoting pivoting) {
  return pivoting == Pivoting::partial ? 0.8 : 0.9;
}

}  // namespace lupine
