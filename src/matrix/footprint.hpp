// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Memory of a run, known before it starts.
#pragma once

#include <lupine/options.hpp>

#include <cstdint>

#include "grid/grid_shape.hpp"

namespace lupine {

/// What determines the memory of a run.
struct Footprint {
  std::int64_t n = 0;
  std::int64_t nb = 1;
  GridShape shape;
  Precision precision = Precision::fp16;  ///< resolved
  Pivoting pivoting = Pivoting::none;
  int lookahead = 1;
  std::int64_t chunk =
      0;  ///< columns of a block row exchanged, solved for and updated at a time; 0: all
  DeviceKind device = DeviceKind::cpu;  ///< resolved
  bool native = false;                  ///< the update reads its precision without a copy in FP32
  bool staged = false;                  ///< panels travel through host memory
  double held = 0;                      ///< bytes an element of A that is kept beside its factors

  /// Of a user's matrix on its way through host memory to a device, at most.
  static constexpr std::int64_t piece_bytes = std::int64_t{64} << 20;

  /// Columns of a step: nb, or less where panels of nb columns would take more than their share of
  /// 4.4 n^2 bytes (FP64: 8.8) + 150 MB a rank. Never less than 1.
  std::int64_t panel_width() const;
  /// Bytes that the most loaded rank allocates: factors, panels, workspace, vectors. A floating
  /// number, since n may be anything that a user can type.
  double rank_bytes() const;
  /// Bytes of host memory beside a device that has its own.
  double host_bytes() const;
  /// The part of rank_bytes that depends on the width of a step: panels, the update's workspace,
  /// and with pivoting what the ranks of a process column exchange.
  double panel_bytes(std::int64_t width) const;
  /// Panels in flight, and chunks of block rows.
  double ring_bytes(std::int64_t width) const;
  /// Rows on their way between ranks, and the panel that they share.
  double exchange_bytes(std::int64_t width) const;

 private:
  /// Of emulated updates in FP32, and of solves: by the device's traits.
  double scratch_bytes(std::int64_t width) const;
  double local_rows() const;
  double local_columns() const;
  double chunk_columns() const;
  double chunks() const;
  double element_bytes() const;
};

}  // namespace lupine
