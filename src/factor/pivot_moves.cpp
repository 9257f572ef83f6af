// SPDX-License-Identifier: BSD-3-Clause
#include "factor/pivot_moves.hpp"

#include <span>

namespace speedwell {

PivotMoves::PivotMoves(Device& device, const Distribution& rows, std::int64_t width, int slots,
                       EqualVector<std::int64_t>& pivots)
    : device_(device), rows_(rows), queue_(device.make_queue(Priority::high)), pivots_(pivots) {
  pivots_.resize(static_cast<std::size_t>(rows.size()));
  // One slot more than there are panels: while the moves of panel q are written, the queues may
  // still read the moves of panel q - slots.
  for (int i = 0; i <= slots; ++i) slots_.push_back({DeviceRowMoves(device, width)});
}

const DeviceRowMoves& PivotMoves::of(const Panel& q, const Carrier& carrier,
                                     const std::function<void(const Event&)>& wait) {
  Slot& slot = slots_[static_cast<std::size_t>(q.step.index) % slots_.size()];
  if (slot.panel == q.step.index) return slot.moves;
  slot.panel = q.step.index;
  if (carrier.arrived()) queue_->wait(*carrier.arrived());
  wait(*queue_->record());
  const std::span pivots(&pivots_[static_cast<std::size_t>(q.step.begin.value)],
                         static_cast<std::size_t>(q.step.width()));
  device_.download(*queue_, q.pivots, pivots);
  slot.moves.set(*queue_, plan_row_moves(pivots, q.step.begin, rows_));
  return slot.moves;
}

}  // namespace speedwell
