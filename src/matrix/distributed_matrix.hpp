// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// One rank's part of an n x n matrix in FP32 or FP64, block-cyclic over the grid.
#pragma once

#include "core/scalar.hpp"
#include "device/device.hpp"
#include "grid/distribution.hpp"
#include "grid/step.hpp"

namespace lupine {

class DistributedMatrix {
 public:
  /// Allocates; the contents are not set. @param storage fp32 or fp64 @throws Fault out of memory
  DistributedMatrix(Device& device, Distribution rows, Distribution columns,
                    Precision storage = Precision::fp32);

  /// Elements from one column to the next.
  static std::int64_t leading_dimension(std::int64_t rows);

  const Distribution& rows() const { return rows_; }
  const Distribution& columns() const { return columns_; }
  Precision storage() const { return view_.precision; }
  AnyMatrix local() const { return view_; }
  /// Local rows [i, end) and columns [j, end).
  AnyMatrix from(LocalIndex i, LocalIndex j) const;
  /// The diagonal block of a step. @pre step.owns_diagonal()
  AnyMatrix diagonal(const Step& step) const;

 private:
  Distribution rows_;
  Distribution columns_;
  Buffer memory_;
  AnyMatrix view_;
};

}  // namespace lupine
