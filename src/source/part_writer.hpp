// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Writes a rank's part of a user's matrix, piece by piece, and takes its checksums meanwhile.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "core/matrix_view.hpp"
#include "device/device.hpp"

namespace speedwell {

/// Bytes of a user's matrix that are in host memory at most on the way to a device.
constexpr std::int64_t largest_piece_bytes = std::int64_t{64} << 20;

/// Receives a rank's part of A (rows() x columns() in local indices) in pieces, in any order. If A
/// is in device memory that the host cannot access, each piece goes through a buffer in host
/// memory: an eighth of the part, at most largest_piece_bytes, but at least two rows or one column.
/// Otherwise a piece is written where it belongs. Each piece is summed as soon as it is there: what
/// changes in memory while others come shows in the checksums.
class PartWriter {
 public:
  /// @param a in host memory
  explicit PartWriter(MatrixView<double> a, const RunContext& run = RunContext::none());
  /// @param a in the device's memory @throws Fault out of memory
  PartWriter(Device& device, MatrixView<double> a);

  std::int64_t rows() const { return a_.rows; }
  std::int64_t columns() const { return a_.columns; }

  /// Whether to end early, and leave the rest of A as it is.
  bool ended() const { return run_.ended(); }

  /// write(first, to) must set all of `to`, which is host memory.
  using WritePiece = std::function<void(std::int64_t first, MatrixView<double> to)>;
  /// Calls write(first, to) for pieces of whole columns, `to` being the columns from `first` on.
  void by_columns(const WritePiece& write);
  /// Calls write(first, to) for pieces of whole rows, `to` being the rows from `first` on, which is
  /// even.
  void by_rows(const WritePiece& write);
  /// The block of A that begins at element (i, j) <- from, which has the size of the block.
  void set(std::int64_t i, std::int64_t j, MatrixView<const double> from);
  /// A <- from, by several threads. @pre from has rows() rows and columns() columns
  void copy(MatrixView<const double> from);
  /// A <- 0.
  void clear();
  /// a_ij <- a_ij + value for each entry, by several threads; values of one element are added in
  /// the order of `lists`. Indices are local. May sort each list.
  void add(std::vector<std::vector<MatrixEntry>>& lists);
  /// Device::checksums_of_columns() of what was written, if each number of A was, once. What add()
  /// has made in a device's memory is summed by this call alone.
  std::vector<std::uint64_t> checksums();

 private:
  MatrixView<double> piece(std::int64_t i, std::int64_t j, std::int64_t rows,
                           std::int64_t columns) const;
  void add_on_host(const std::vector<std::vector<MatrixEntry>>& lists);
  void add_on_device(std::vector<MatrixEntry>& entries);
  void put(std::int64_t i, std::int64_t j, MatrixView<const double> piece);
  void take_sums(std::int64_t i, std::int64_t j, MatrixView<const double> piece);

  MatrixView<double> a_;
  const RunContext& run_;
  Device* device_ = nullptr;  ///< null: a_ is host memory
  std::unique_ptr<Queue> queue_;
  std::int64_t piece_bytes_;
  Buffer piece_;    ///< one piece in host memory
  Buffer entries_;  ///< entries for add(), in device memory
  std::vector<std::uint64_t> row_keys_;
  std::vector<std::uint64_t> sums_;  ///< of the columns, and last of all bits
  bool summed_ = true;               ///< whether these are those of what was written
};

}  // namespace speedwell
