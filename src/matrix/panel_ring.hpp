// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The panels in flight: copies of a block column of L and of chunks of a block row of U, in the
/// precision that the update reads.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/scalar.hpp"
#include "device/device.hpp"
#include "grid/distribution.hpp"
#include "grid/step.hpp"

namespace lupine {

/// What a rank needs of step k to update its trailing matrix from the block column, contiguous so
/// that it can be sent: columns of L are padded to whole cache lines, which tensor cores need too,
/// and sent with it.
struct Panel {
  Step step;
  PanelControl* control = nullptr;  ///< control data, with the pivots behind it
  std::int64_t* pivots = nullptr;   ///< rows of the whole matrix; null without pivoting
  AnyMatrix diagonal;               ///< L_kk\U_kk in storage precision, as the solves read it
  AnyMatrix left;                   ///< L_ik: local rows from step.trailing_row on

  std::span<std::byte> control_bytes() const;
  /// The diagonal block too on the ranks that solve with it, those of its process row.
  std::span<std::byte> values() const;
};

/// A chunk of -U_kj: step.width() rows, some of the trailing columns. Padded likewise.
struct RightChunk {
  PanelControl* control = nullptr;
  AnyMatrix values;

  std::span<std::byte> control_bytes() const {
    return std::as_writable_bytes(std::span(control, 1));
  }
  std::span<std::byte> bytes() const;
};

/// What determines the memory of panels.
struct RingShape {
  Precision precision = Precision::fp16;  ///< that the update reads
  std::int64_t width = 1;                 ///< columns of a step at most
  int slots = 2;                          ///< panels alive at once
  std::int64_t chunk = 1;                 ///< columns of a right chunk at most
  int chunks = 1;                         ///< right chunks alive at once
  bool pivoting = false;
};

/// Memory of a fixed number of panels and of right chunks: some for the columns behind the next
/// panel, and one for that panel's own columns. Nothing is allocated while factoring.
class PanelRing {
 public:
  /// Right chunks that are worth their memory: while one is updated, the next are solved for and on
  /// their way, those of the next step included.
  static constexpr int most_chunks = 3;
  /// As many as that, or as `columns` cut into chunks of so many columns make.
  static int chunks_for(std::int64_t columns, std::int64_t chunk);

  PanelRing(Device& device, const Distribution& rows, const RingShape& shape);

  /// Elements from one column of a panel to the next.
  static std::int64_t leading_dimension(std::int64_t rows);
  /// Bytes of the diagonal block of a panel of so many columns, padded.
  static std::int64_t diagonal_bytes(std::int64_t width, Precision precision);
  /// Bytes of control data, of a left panel's values and of a right chunk at most.
  std::int64_t largest_control() const { return control_bytes_; }
  std::int64_t largest_left() const { return left_bytes_; }
  std::int64_t largest_right() const { return right_bytes_; }
  /// As largest_right(), of the chunk in slot own().
  std::int64_t largest_own() const { return own_bytes_; }
  /// Bytes of a right chunk of so many columns at most.
  static std::int64_t right_bytes(std::int64_t width, std::int64_t columns, Precision precision);

  int slots() const { return static_cast<int>(panels_.size()); }
  Panel& operator[](std::int64_t k) { return panels_[static_cast<std::size_t>(k % slots())]; }
  /// The panel of `step`, shaped, in the place of the one `slots` steps before.
  Panel& shape(const Step& step);
  /// Slots of right chunks: [0, chunks()) for the columns behind a panel, own() for its own.
  int chunks() const { return shape_.chunks; }
  int own() const { return shape_.chunks; }
  /// A right chunk of so many columns in that slot, in the place of what was there.
  /// @pre 0 <= slot <= own(); width <= shape.width; columns <= shape.chunk, or shape.width in own()
  RightChunk chunk(int slot, std::int64_t width, std::int64_t columns) const;

 private:
  std::int64_t rows_;
  RingShape shape_;
  std::int64_t left_bytes_;
  std::int64_t right_bytes_;
  std::int64_t own_bytes_;
  std::int64_t control_bytes_;
  std::vector<Buffer> memory_;
  std::vector<Buffer> right_;
  Buffer control_;
  std::vector<Panel> panels_;
};

}  // namespace lupine
