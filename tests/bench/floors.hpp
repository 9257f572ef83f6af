// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// What this machine allows at best, measured: the floors that the parts are held against.
#pragma once

#include "core/matrix_view.hpp"

namespace lupine {

/// Rates of all threads together.
struct Floors {
  double elements = 0;  ///< a second, of the random stream: made and summed up in registers
  double read = 0;      ///< bytes a second, from memory
  double write = 0;     ///< bytes a second, to memory
  double copy = 0;      ///< bytes a second, read and written ones together
};

/// @param memory overwritten; ought to exceed the last cache by far
Floors measure_floors(MatrixView<float> memory, bool smoke);

}  // namespace lupine
