// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// A user's matrix on the device.
#pragma once

#include <optional>

#include "comm/process_grid.hpp"
#include "device/device.hpp"
#include "matrix/distributed_matrix.hpp"
#include "solve/source.hpp"

namespace lupine {

/// The rank's part of A in FP64, as it was given: where it lies, if the device reads that, else a
/// copy.
class UserMatrix {
 public:
  /// Collective. @throws UsageError, AgreedFault: on every rank alike
  UserMatrix(const ProcessGrid& grid, Device& device, const MatrixSource& source, std::int64_t nb);

  const Distribution& rows() const { return rows_; }
  const Distribution& columns() const { return columns_; }
  ConstAnyMatrix local() const { return local_; }

 private:
  Distribution rows_;
  Distribution columns_;
  std::optional<DistributedMatrix> copy_;
  ConstAnyMatrix local_;
};

}  // namespace lupine
