// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The plan of an LU factorization: plain values, equal on every rank.
#pragma once

#include <speedwell/options.hpp>

#include <algorithm>
#include <cstdint>

#include "core/scalar.hpp"
#include "grid/distribution.hpp"
#include "grid/grid_shape.hpp"

namespace speedwell {

/// All that decides how the LU of one matrix runs and what memory it takes. plan() makes it; the
/// factorization, the solves, the memory and the reports are made from it.
struct LuPlan {
  std::int64_t n = 1;      ///< order of the matrix
  std::int64_t nb = 1;     ///< block size of its distribution, at most n
  std::int64_t width = 1;  ///< columns of a step: nb, or less where memory is short
  GridShape grid{};
  DeviceKind device = DeviceKind::cpu;    ///< not automatic
  Precision precision = Precision::fp16;  ///< what the update reads; not automatic
  Field field = Field::real;              ///< of a complex matrix, with pivoting only
  Pivoting pivoting = Pivoting::none;
  int lookahead = 1;       ///< panels factored ahead of the update, >= 0
  std::int64_t chunk = 0;  ///< columns of the trailing matrix updated at once at most; 0: all
  /// With pivoting: most columns of a leaf of a panel's recursion; they are eliminated one by one
  /// (HPL: NBMIN).
  int leaf = 16;
  int ndiv = 2;  ///< parts into which more columns than `leaf` are divided, >= 2 (HPL: NDIV)
  BroadcastMethod broadcast = BroadcastMethod::ring_modified;  ///< of panels
  Fp64Products fp64 = Fp64Products::native;                    ///< of updates that read FP64
  /// Whether A and its factors are stored in the 16 bits that the update reads. Then each operation
  /// with a part of them works on a copy in FP32 and rounds the result. With pivoting only.
  bool narrow = false;
  bool native = false;     ///< whether the update reads its precision without a copy in FP32
  bool overlaps = false;   ///< whether panels are factored beside updates (Device::overlaps)
  bool staged = false;     ///< whether panels travel through host memory
  std::int64_t held = 0;   ///< bytes for each element of an A kept beside its factors; 0: none
  bool certified = false;  ///< whether the errors of x are proven, by an inverse beside the factors

  /// The precision in which A and its factors are stored.
  Precision storage() const { return narrow ? precision : storage_for(precision); }
  /// Bytes of an element of A and of its factors.
  std::int64_t element() const { return bytes_of(storage()) * parts(); }
  /// The numbers of an element: n, nb and width count elements.
  std::int64_t parts() const { return parts_of(field); }
  /// The rows and columns of the rank that has the most.
  Distribution rows() const { return {n, nb, grid.nprow, 0}; }
  Distribution columns() const { return {n, nb, grid.npcol, 0}; }
  /// The columns of a chunk on a rank that has so many.
  std::int64_t chunk_of(std::int64_t local_columns) const {
    const std::int64_t whole = std::max<std::int64_t>(local_columns, 1);
    return chunk > 0 ? std::min(chunk, whole) : whole;
  }
};

}  // namespace speedwell
