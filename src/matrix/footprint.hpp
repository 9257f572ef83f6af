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
  int lookahead = 1;

  /// Columns of a step: nb, or less where panels of nb columns would take more than their share of
  /// 4.4 n^2 bytes + 150 MB a rank. Never less than 1.
  std::int64_t panel_width() const;
  /// Bytes that the most loaded rank allocates: factors, panels, workspace, vectors. A floating
  /// number, since n may be anything that a user can type.
  double rank_bytes() const;
  /// The part of it that depends on the width of a step: panels and the update's workspace.
  double panel_bytes(std::int64_t width) const;
};

}  // namespace lupine
