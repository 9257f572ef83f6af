// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// A user's matrix in FP64 in device memory.
#pragma once

#include <speedwell/solution.hpp>

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "comm/process_grid.hpp"
#include "device/device.hpp"
#include "matrix/distributed_matrix.hpp"
#include "refine/system.hpp"
#include "source/source.hpp"

namespace speedwell {

/// Whether the devices of all ranks read A where it lies in the user's memory, in this
/// distribution. Collective.
/// @throws UsageError if not, and a rank's part is in a GPU's memory: from there A is not copied
bool is_read_in_place(const ProcessGrid& grid, const Device& device, const MatrixSource& source,
                      const Distribution& rows, const Distribution& columns);

/// The rank's part of A in FP64 (of A^T, where the source is transposed()), not scaled: in the
/// user's own memory where the source holds it in this distribution and the device can read it,
/// otherwise a copy.
class UserMatrix {
 public:
  /// Collective. @param nb rows and columns of a block
  /// @throws UsageError, AgreedFault: the same error on every rank
  UserMatrix(const ProcessGrid& grid, Device& device, const MatrixSource& source, std::int64_t nb);

  Field field() const { return field_; }
  /// Of the real system: of a complex A, of twice its order (refine/pairs.hpp).
  const Distribution& rows() const { return rows_; }
  const Distribution& columns() const { return columns_; }
  /// Of the elements of A.
  Distribution element_rows() const { return elements(rows_); }
  Distribution element_columns() const { return elements(columns_); }
  /// A, or of a complex one the matrix H of rows() and element_columns().
  ConstAnyMatrix local() const { return local_; }
  /// Blocks of another size, for a rank alone: its part is the same. @param elements the block size
  /// @pre elements >= 1, and this is the block size already or there is one rank
  void set_block(std::int64_t elements);
  /// MatrixSource::transposed().
  bool transposed() const { return transposed_; }
  /// Which system with the matrix in memory is one with A, A^T or A^H.
  struct InMemory {
    Transpose transpose = Transpose::no;  ///< no, or yes: that of the real system's transpose
    bool conjugated = false;              ///< whether that has the conjugates of b and x
  };
  InMemory in_memory(Transpose of_a) const;
  /// What the user calls a column of the matrix in memory.
  std::string_view column() const { return transposed_ ? "row" : "column"; }
  /// The system A x = b or A^T x = b of the matrix in memory, without scales. Collective.
  System system(const ProcessGrid& grid, Device& device, Transpose transpose) const;
  /// Whether this is a copy of A, which can be made again from its source.
  bool is_copy() const { return copy_.has_value(); }
  /// Device::checksums_of_columns() of a copy, as it was made; empty where A is the user's.
  const std::vector<std::uint64_t>& checksums() const { return checksums_; }

 private:
  Distribution elements(const Distribution& of) const {
    const std::int64_t parts = parts_of(field_);
    return {of.size() / parts, of.block() / parts, of.processes(), of.me()};
  }

  Field field_;
  Distribution rows_;
  Distribution columns_;
  bool transposed_;
  std::optional<DistributedMatrix> copy_;
  std::vector<std::uint64_t> checksums_;
  ConstAnyMatrix local_;
};

/// The matrix in memory times a vector of ones, or its transpose (A^H of a complex A), whole, on
/// every rank. A as UserMatrix has it. Collective.
std::vector<double> times_ones(const ProcessGrid& grid, Device& device, const UserMatrix& a,
                               Transpose transpose);

/// The first pivot, counted from 0, that is exactly zero in LAPACK's LU of A as the user gave it,
/// without scales: what LAPACK's dgesv calls singular. -1 if there is none, or if LAPACK's LU of
/// A^T has none: then roundings made it zero. Takes a copy of A.
/// @pre one rank has all of A; has_lapack()
std::int64_t zero_pivot_as_given(Device& device, const UserMatrix& a);

/// The error of an A of order n with this zero pivot, counted from 0.
/// @param which " of A^T" where the pivot is that of A^T; else empty
SingularError singular(std::int64_t pivot, std::int64_t n, const char* which);

}  // namespace speedwell
