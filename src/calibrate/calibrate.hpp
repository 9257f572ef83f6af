// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// `speedwell predict --calibrate`: measures the GPUs of the machine on which it runs, as a
/// MachineModel.
#pragma once

#include <optional>
#include <vector>

#include "model/machine_model.hpp"
#include "setup/machine.hpp"

namespace speedwell {

/// How well the model of an operation fits its measured times.
struct CalibratedOperation {
  OperationKind kind = OperationKind::product;
  Precision precision = Precision::fp32;
  int shapes = 0;
  /// Errors |modelled / measured seconds - 1| over the shapes.
  double largest_error = 0;
  double mean_error = 0;
};

struct Calibration {
  MachineModel machine;
  std::vector<CalibratedOperation> operations;
  std::int64_t order = 0;  ///< rows and columns of the largest shape
  double largest_error = 0;
  double mean_error = 0;  ///< over all shapes of all operations
};

/// Measures this machine: the operations of runs at their shapes, memory, and messages. All ranks
/// measure at the same time, since they share caches, memory and the clock's frequency in a run
/// too. Of each operation, the fastest of several rounds counts, and of the ranks the slowest. So
/// the result is equal on every rank. Collective.
///
/// What cannot be measured here, such as messages with one rank, is taken from `earlier`, or else
/// assumed, and says so. The name, the description and the numbers of nodes and devices of
/// `earlier` stay as they are.
///
/// @param earlier the machine that is measured once more, equal on every rank; nothing: a new one
/// @param seconds about how long it takes. Shapes are smaller where time or memory do not suffice.
/// @throws UsageError if the run has no GPUs, if `earlier` is of another GPU, if several ranks
/// share
///         a GPU, or if `seconds` is not above 0; AgreedFault if a quarter of the free memory does
///         not suffice
Calibration calibrate(const Machine& machine, const std::optional<MachineModel>& earlier,
                      double seconds);

}  // namespace speedwell
