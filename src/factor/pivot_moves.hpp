// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The pivots of panels on the host, and the moves of rows that they ask for.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "device/device.hpp"
#include "matrix/panel_ring.hpp"
#include "transport/row_exchange.hpp"
#include "transport/transport.hpp"

namespace lupine {

class PivotMoves {
 public:
  /// @param slots panels alive at once
  /// @param pivots of all rows of the matrix, where they are put
  PivotMoves(Device& device, const Distribution& rows, std::int64_t width, int slots,
             std::vector<std::int64_t>& pivots);

  /// The moves of panel q's pivots, which are read from it when this is first asked for.
  /// @param arrived has brought the panel
  /// @param wait waits for an event
  const DeviceRowMoves& of(const Panel& q, const Carrier& arrived,
                           const std::function<void(const Event&)>& wait);

 private:
  struct Slot {
    DeviceRowMoves moves;
    std::int64_t panel = -1;  // whose moves these are
  };
  Device& device_;
  Distribution rows_;
  std::unique_ptr<Queue> queue_;
  std::vector<std::int64_t>& pivots_;
  std::vector<Slot> slots_;
};

}  // namespace lupine
