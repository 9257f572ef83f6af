// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The pivots of panels, copied to the host, and the moves of rows that they cause.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "device/device.hpp"
#include "factor/equal_vector.hpp"
#include "matrix/panel_ring.hpp"
#include "transport/row_exchange.hpp"
#include "transport/transport.hpp"

namespace speedwell {

/// Computes the moves of rows of each panel once, and keeps the moves of the latest panels.
class PivotMoves {
 public:
  /// @param width most columns of a panel
  /// @param slots how many panels are in flight at once
  /// @param pivots resized to the rows of the matrix; of() stores the pivots of each panel in it
  PivotMoves(Device& device, const Distribution& rows, std::int64_t width, int slots,
             EqualVector<std::int64_t>& pivots);

  /// The moves of rows that the pivots of panel q cause. The first call for a panel reads its
  /// pivots from the device and waits for them.
  /// @param carrier the one that has received the panel
  /// @param wait a function that waits for an event
  const DeviceRowMoves& of(const Panel& q, const Carrier& carrier,
                           const std::function<void(const Event&)>& wait);

 private:
  struct Slot {
    DeviceRowMoves moves;
    std::int64_t panel = -1;  // number of the panel to which the moves belong; -1: none yet
  };
  Device& device_;
  Distribution rows_;
  std::unique_ptr<Queue> queue_;
  EqualVector<std::int64_t>& pivots_;
  std::vector<Slot> slots_;
};

}  // namespace speedwell
