// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Measures the highest rates of this machine, with which the rates of parts are compared.
#pragma once

#include "core/matrix_view.hpp"

namespace speedwell {

/// Rates of all threads together.
struct Floors {
  double read = 0;   ///< bytes a second that are read from memory
  double write = 0;  ///< bytes a second that are written to memory
  double copy = 0;   ///< bytes a second, the sum of those read and those written
};

/// Measures all of them.
/// @param memory is overwritten; it should be much larger than the last cache
Floors measure_floors(MatrixView<float> memory, bool smoke);

}  // namespace speedwell
