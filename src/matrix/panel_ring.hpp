// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The memory of panels in flight: copies of block columns of L, and of chunks of block rows of U,
/// in the precision that the update reads.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/scalar.hpp"
#include "device/device.hpp"
#include "grid/distribution.hpp"
#include "grid/lu_plan.hpp"
#include "grid/step.hpp"

namespace speedwell {

/// The part of step k's panel that one rank needs to apply it. All of it is device memory, and
/// contiguous, so that it can be sent. Each column of L is padded to whole cache lines, which
/// tensor cores need too; the padding is sent as well.
struct Panel {
  Step step;
  PanelControl* control = nullptr;  ///< control data; the pivots follow it in memory
  std::int64_t* pivots = nullptr;   ///< rows of the whole matrix; null without pivoting
  AnyMatrix diagonal;               ///< L_kk\U_kk in storage precision, in the form for the solves
  /// L_ik: local rows from step.trailing_row on; of a complex L the real matrix that multiplies
  /// pairs of numbers as L multiplies elements (see Device::cast()), of twice the rows and columns.
  AnyMatrix left;

  /// The control data and the pivots, as one message.
  std::span<std::byte> control_bytes() const;
  /// `left`, as one message; on the process row of the step, whose ranks solve with the diagonal
  /// block, `diagonal` and `left`.
  std::span<std::byte> values() const;
};

/// A chunk of -U_kj, rounded: step.width() rows of elements, which are twice as many numbers of a
/// complex U, and some of the trailing columns, in device memory. Each column is padded as in a
/// Panel.
struct RightChunk {
  PanelControl* control = nullptr;
  AnyMatrix values;

  /// The control data, as one message.
  std::span<std::byte> control_bytes() const {
    return std::as_writable_bytes(std::span(control, 1));
  }
  /// The values with their padding, as one message.
  std::span<std::byte> bytes() const;
};

/// The numbers and sizes of a ring's panels and chunks, on a rank with so many rows and columns.
struct RingSizes {
  RingSizes(const LuPlan& plan, std::int64_t rows, std::int64_t columns);

  int slots;                    ///< panels in flight at once: look-ahead + 1
  std::int64_t chunk;           ///< columns of a right chunk at most
  int chunks;                   ///< right chunks for the rest in flight at once
  std::int64_t control;         ///< bytes of control data at most
  std::int64_t left;            ///< bytes of a panel's values at most
  std::int64_t right;           ///< bytes of a right chunk for the rest at most
  std::int64_t own;             ///< bytes of the right chunk for the own column at most
  std::int64_t bytes() const {  ///< of all of them
    return slots * left + chunks * right + own + (slots + chunks + 1) * control;
  }
};

/// The memory of a fixed number of panels, of right chunks for the rest of the trailing matrix, and
/// of one right chunk for the own column of the next panel. All of it is allocated at construction.
class PanelRing {
 public:
  /// More right chunks would not be worth their memory: while the update uses one, the next two are
  /// computed and sent, those of the next step included.
  static constexpr int most_chunks = 3;
  /// @param rows,columns distribution of the matrix
  PanelRing(Device& device, const Distribution& rows, const Distribution& columns,
            const LuPlan& plan);

  /// The leading dimension of a panel or chunk of so many rows: `rows` and some padding.
  static std::int64_t leading_dimension(std::int64_t rows);
  /// Bytes of the diagonal block of a panel of `width` columns, with padding. The block has the
  /// storage precision that belongs to what the update reads.
  static std::int64_t diagonal_bytes(std::int64_t width, const LuPlan& plan);
  const RingSizes& sizes() const { return sizes_; }

  int slots() const { return static_cast<int>(panels_.size()); }
  /// The panel of step k, if it is one of the last slots() panels.
  Panel& operator[](std::int64_t k) { return panels_[static_cast<std::size_t>(k % slots())]; }
  /// Gives the panel of `step` its views. It takes the memory of the panel slots() steps before.
  Panel& shape(const Step& step);
  /// Slots of right chunks: [0, chunks()) for the rest, own() for the own column.
  int chunks() const { return sizes_.chunks; }
  int own() const { return sizes_.chunks; }
  /// The right chunk of `width` rows and `columns` columns in the memory of a slot.
  /// @pre 0 <= slot <= own(); width <= the plan's; columns <= sizes().chunk, or the plan's width in
  /// own()
  RightChunk chunk(int slot, std::int64_t width, std::int64_t columns) const;

 private:
  std::int64_t rows_;
  LuPlan plan_;
  RingSizes sizes_;
  std::vector<Buffer> memory_;
  std::vector<Buffer> right_;
  Buffer control_;
  std::vector<Panel> panels_;
};

}  // namespace speedwell
