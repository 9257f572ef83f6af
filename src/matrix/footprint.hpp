// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The memory of a run, computed before it starts.
#pragma once

#include <lupine/options.hpp>

#include <cstdint>

#include "grid/grid_shape.hpp"

namespace lupine {

/// Most steps of a GMRES cycle, from 30 to 200: in between, their vectors take a twentieth of the
/// memory of FP32 factors.
int gmres_restart(std::int64_t n, const GridShape& shape);

/// The most right-hand sides that GMRES takes together, at least one: their vectors take a fifth of
/// the memory of FP32 factors at most.
std::int64_t gmres_vectors(std::int64_t n, const GridShape& shape);

/// The quantities on which the memory of a run depends, and that memory in bytes.
struct Footprint {
  std::int64_t n = 0;
  std::int64_t nb = 1;
  GridShape shape;
  Precision precision = Precision::fp16;  ///< what the update reads; not automatic
  Pivoting pivoting = Pivoting::none;
  int lookahead = 1;
  std::int64_t chunk = 0;  ///< columns of the trailing matrix updated at once at most; 0: all
  DeviceKind device = DeviceKind::cpu;  ///< not automatic
  bool native = false;  ///< whether the update reads its precision without a copy in FP32
  Fp64Products fp64 = Fp64Products::native;  ///< of updates that read FP64
  bool staged = false;                       ///< whether panels travel through host memory
  double free = 0;  ///< bytes that a rank may use; the memory of panels may grow into them
  double held = 0;  ///< bytes for each element of an A that is kept beside its factors; 0: none

  /// Bytes of a user's matrix that are in host memory at most on the way to a device.
  static constexpr std::int64_t piece_bytes = std::int64_t{64} << 20;

  /// Columns of a step, at least 1: nb, or fewer where memory is short. Memory is short where
  /// panel_bytes(nb) would exceed the share of panels in 4.4 n^2 bytes (FP64: 8.8 n^2) over all
  /// ranks and 150 MB a rank, by which an order is chosen, and rank_bytes() would also exceed
  /// `free`.
  std::int64_t panel_width() const;
  /// Bytes of device memory that the most loaded rank allocates: factors, panels, workspace,
  /// vectors. Of type double, because n may be any number that a user types.
  double rank_bytes() const;
  /// Bytes of host memory that a rank needs if its device has memory of its own.
  double host_bytes() const;
  /// The part of rank_bytes() that depends on the width of a step: ring_bytes(), the workspace of
  /// updates and solves, and exchange_bytes().
  double panel_bytes(std::int64_t width) const;
  /// Bytes of the PanelRing: panels in flight, and chunks of block rows of U.
  double ring_bytes(std::int64_t width) const;
  /// Bytes for rows that ranks exchange, and for the panel that they factor together; 0 without
  /// pivoting, and where a process column is one rank.
  double exchange_bytes(std::int64_t width) const;

  /// Bytes in which a GPU emulates the FP64 products of updates; 0 where they are native.
  double emulation_bytes() const;

 private:
  /// Bytes of workspace: FP32 copies for an emulated update, and the solves' (DeviceTraits).
  double scratch_bytes(std::int64_t width) const;
  double rank_bytes(std::int64_t width) const;
  double vectors() const;
  double local_rows() const;
  double local_columns() const;
  double chunk_columns() const;
  double chunks() const;
  double element_bytes() const;
};

}  // namespace lupine
