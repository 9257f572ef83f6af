// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Tells whether a matrix in memory is still what it was.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "comm/communicator.hpp"
#include "core/matrix_view.hpp"
#include "device/device.hpp"
#include "grid/distribution.hpp"

namespace speedwell {

/// The checksums of the columns of a matrix in FP64, in which each number counts by its place. The
/// residual of x is computed with A as it lies in memory: where A has changed there, x solves
/// another system, and its residual shows nothing of it. docs/numerics.md, section 5.3, has what is
/// found. Members are collective, except the constructor.
class Checksum {
 public:
  /// @param of_columns the sums of Device::checksums_of_columns() of the rank's part
  explicit Checksum(std::vector<std::uint64_t> of_columns) : sums_(std::move(of_columns)) {}
  /// Of the matrix as it is now. @param a the rank's part @throws AgreedFault, Interrupted
  static Checksum of(const Communicator& all, Device& device, ConstAnyMatrix a);
  /// Where `a` is not what it was, on the first rank where it is not: "column 17 (counted from 1)
  /// of rank 2's part"; empty if it is what it was.
  /// @param column what a column is called
  /// @param seen the checksum of `a` as a pass over it has read it (System::checksum()): where it
  ///        is as it was on every rank, `a` is not read again. What a pass has read differently has
  ///        changed, whatever lies there by now.
  /// @throws AgreedFault, Interrupted
  std::string where_changed(const Communicator& all, Device& device, ConstAnyMatrix a,
                            const Distribution& columns, std::string_view column,
                            std::optional<MatrixChecksum> seen = {}) const;

 private:
  MatrixChecksum whole() const;

  std::vector<std::uint64_t> sums_;  // of the columns, and last of all bits
};

}  // namespace speedwell
