/// @file
/// One rank's part of an n x n matrix in FP32, block-cyclic over the grid.
#pragma once

#include "core/matrix_view.hpp"
#include "device/device.hpp"
#include "grid/distribution.hpp"
#include "grid/step.hpp"

namespace lupine {

class DistributedMatrix {
 public:
  /// Allocates; the contents are not set. @throws Fault out of memory
  DistributedMatrix(Device& device, Distribution rows, Distribution columns);

  /// Elements from one column to the next: whole cache lines, and never a multiple of 4 KiB, at
  /// which all columns would fall into the same cache sets.
  static std::int64_t leading_dimension(std::int64_t rows);

  const Distribution& rows() const { return rows_; }
  const Distribution& columns() const { return columns_; }
  MatrixView<float> local() const { return view_; }
  /// Local rows [i, end) and columns [j, end).
  MatrixView<float> from(LocalIndex i, LocalIndex j) const;
  /// The diagonal block of a step. @pre step.owns_diagonal()
  MatrixView<float> diagonal(const Step& step) const;

 private:
  Distribution rows_;
  Distribution columns_;
  Buffer memory_;
  MatrixView<float> view_;
};

}  // namespace lupine
