// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The model of an operation's time, fitted to measured times.
#pragma once

#include <span>

#include "model/machine_model.hpp"

namespace speedwell {

/// A measured time of an operation. OperationKind says what the numbers mean for each operation.
struct TimedShape {
  double work = 0;
  double rows = 1;
  double columns = 1;
  double width = 1;
  double seconds = 0;
};

struct OperationFit {
  OperationModel model;  ///< without origin and source
  /// Errors |modelled / measured seconds - 1| over the shapes.
  double largest_error = 0;
  double mean_error = 0;
};

/// The rate and half sizes of OperationModel::seconds() with the least sum of squares of relative
/// errors. Half sizes are not negative, and at most 16 times the largest size that was measured: a
/// time that does not depend on a size would make them infinite. The half size of a dimension in
/// which all shapes are equal is 0.
/// @pre there is a shape, and all numbers are above 0
OperationFit fit_operation(std::span<const TimedShape> shapes);

}  // namespace speedwell
