// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// What of the rest is updated beside a panel, and with which part of the device.
#pragma once

#include <cstdint>
#include <utility>

#include "core/expects.hpp"
#include "core/numbers.hpp"
#include "device/device.hpp"
#include "factor/queue_times.hpp"

namespace lupine {

/// A panel that was measured.
struct PanelTime {
  double seconds = 0;
  double part = 1;  ///< of the device, with which it was factored
};

/// What runs side by side in a step.
struct Beside {
  static constexpr double least = 1. / 32;
  double part = 0;           ///< of the device, for the panel; 0: the whole device
  std::int64_t columns = 0;  ///< whose update takes as long as the panel; 0: none is beside it
};

/// The smallest part of the device, a power of two from 1/32 on, with which a panel is forecast to
/// take no longer than the updates beside it: a part p times as large makes the panel p times as
/// fast, and the updates have the rest of the device. Where all updates are too short, the panel
/// gets the whole device.
/// @param column seconds in which the whole device updates one column, > 0
/// @param columns all that are updated in the step
/// @pre column > 0
inline Beside forecast(const PanelTime& panel, double column, std::int64_t columns) {
  LUPINE_EXPECTS(column > 0);
  constexpr std::int64_t unit = 512;  // products of fewer columns are slow
  for (double part = Beside::least; part < 1; part *= 2) {
    const double needed = panel.seconds * panel.part / part * (1 - part) / column;
    if (needed <= static_cast<double>(columns))
      return {part, round_up(static_cast<std::int64_t>(needed) + 1, unit)};
  }
  return {};
}

/// Divides a device whose queues run side by side between a panel and the updates beside it.
/// Without pivoting, "panel" means here its diagonal block alone. Most of a panel's time is that of
/// dependent steps and of passes over memory, so a small part of the device does, as long as
/// updates last that long.
class Pace {
 public:
  /// @param part of the device that panels get; < 0: as measured times say
  Pace(Device& device, Queue& updates, double part)
      : device_(device), updates_(updates), fixed_(part) {}

  /// Gives the panel the part of the device that forecast() says, for updates of `rows` x `columns`
  /// elements. @param first columns beside the panel where nothing has been measured yet
  /// @return Beside::columns
  std::int64_t plan(std::int64_t rows, std::int64_t columns, std::int64_t first,
                    const QueueTimes& times) {
    if (end_ && end_->reached())
      measured_ = {std::exchange(end_, nullptr)->seconds_since(*begin_),
                   now_.part > 0 ? now_.part : 1};
    const double column = times.update_of_element() * static_cast<double>(rows);
    if (fixed_ >= 0)
      now_ = {fixed_, first};
    else if (measured_.seconds == 0 || column == 0)
      now_ = {Beside::least, first};
    else
      now_ = forecast(measured_, column, columns);
    device_.share(now_.part);
    return now_.columns;
  }

  /// The panel has been given to its queue, between these events. What is given from now on has
  /// the whole device, behind the panel where that has the whole device too.
  void end(EventPtr begin, EventPtr end) {
    begin_ = std::move(begin);
    end_ = std::move(end);
    if (now_.part == 0) updates_.wait(*end_);
    device_.share(0);
  }

 private:
  Device& device_;
  Queue& updates_;
  double fixed_;
  EventPtr begin_;  // of the newest panel that was given, until it is measured
  EventPtr end_;
  Beside now_;
  PanelTime measured_;
};

}  // namespace lupine
