// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Where a rank's part of a user's matrix goes while its source brings it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "core/matrix_view.hpp"
#include "device/device.hpp"

namespace lupine {

/// Takes the part in any order of pieces. Memory of a device that is not the host's is reached by
/// way of one piece in host memory, an eighth of the part and at most Footprint::piece_bytes.
class PartWriter {
 public:
  /// @param a in host memory
  explicit PartWriter(MatrixView<double> a) : a_(a) {}
  /// @param a in the device's memory @throws Fault out of memory
  PartWriter(Device& device, MatrixView<double> a);

  std::int64_t rows() const { return a_.rows; }
  std::int64_t columns() const { return a_.columns; }

  /// Calls write(first, to) for one piece of whole columns after the other: it sets all of `to`,
  /// columns from `first` on, which is host memory. One piece is all where the host has A itself.
  using WritePiece = std::function<void(std::int64_t first, MatrixView<double> to)>;
  void by_columns(const WritePiece& write);
  /// The same with pieces of whole rows.
  void by_rows(const WritePiece& write);
  /// Element (i, j) and those behind it <- from, of any size.
  void set(std::int64_t i, std::int64_t j, MatrixView<const double> from);
  /// Everything <- from, by several threads. @pre of the same size
  void copy(MatrixView<const double> from);
  /// Everything <- 0.
  void clear();
  /// Adds values to elements, those of one place in their order. Local indices; sorts.
  void add(std::vector<MatrixEntry>& entries);

 private:
  void put(std::int64_t i, std::int64_t j, MatrixView<const double> piece);

  MatrixView<double> a_;
  Device* device_ = nullptr;  ///< none: a_ is host memory
  std::unique_ptr<Queue> queue_;
  Buffer piece_;
  Buffer entries_;  ///< on the device
};

}  // namespace lupine
