// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// One rank's part of an n x n matrix, real or complex, in FP32 or FP64, distributed
/// block-cyclically over the process grid.
#pragma once

#include "core/scalar.hpp"
#include "device/device.hpp"
#include "grid/distribution.hpp"
#include "grid/step.hpp"

namespace speedwell {

/// Owns the device memory of the part: local rows x local columns, column-major.
class DistributedMatrix {
 public:
  /// Allocates the memory, and leaves it uninitialized.
  /// @param rows,columns distribution of the rows and of the columns
  /// @param storage fp32 or fp64
  /// @throws Fault out of memory
  DistributedMatrix(Device& device, Distribution rows, Distribution columns,
                    Precision storage = Precision::fp32, Field field = Field::real);

  /// The leading dimension for so many local rows: `rows` and some padding.
  static std::int64_t leading_dimension(std::int64_t rows);
  /// Bytes of a rank's part with elements of so many bytes.
  static std::int64_t bytes(std::int64_t rows, std::int64_t columns, std::int64_t element) {
    return leading_dimension(rows) * columns * element;
  }

  const Distribution& rows() const { return rows_; }
  const Distribution& columns() const { return columns_; }
  Precision storage() const { return view_.precision; }
  Field field() const { return view_.field; }
  AnyMatrix local() const { return view_; }
  /// The part of local() from local row i and local column j on.
  AnyMatrix from(LocalIndex i, LocalIndex j) const;
  /// The diagonal block A_kk of step k. @pre step.owns_diagonal()
  AnyMatrix diagonal(const Step& step) const;

 private:
  Distribution rows_;
  Distribution columns_;
  Buffer memory_;
  AnyMatrix view_;
};

}  // namespace speedwell
