// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// What of the rest is updated beside a panel, and with which part of the device.
#pragma once

#include <cstdint>
#include <utility>

#include "core/numbers.hpp"
#include "device/device.hpp"
#include "factor/queue_times.hpp"

namespace lupine {

/// Divides a device whose queues run side by side between a panel and the updates beside it. With
/// look-ahead 1 and without pivoting, "panel" means here its diagonal block alone. Most of a
/// panel's time is that of dependent steps and of passes over memory, so a small part of the device
/// does, as long as updates last that long.
class Pace {
 public:
  /// @param part of the device that panels get; < 0: as measured times say
  Pace(Device& device, Queue& panels, Queue& updates, double part)
      : device_(device), panels_(panels), updates_(updates), fixed_(part) {}

  /// What is given to the panels' queue from now on is the panel.
  void begin() { begin_ = panels_.record(); }

  /// Gives the panel the smallest part of the device with which it is forecast to take no longer
  /// than the updates beside it, those of `rows` x `columns` elements. The forecast: a part p times
  /// as large makes the panel p times as fast. Where all updates are too short, the panel gets the
  /// whole device.
  /// @param first the result where nothing has been measured yet
  /// @return the columns whose update takes as long as the panel; 0: none is beside it
  std::int64_t plan(std::int64_t rows, std::int64_t columns, std::int64_t first,
                    const QueueTimes& times) {
    constexpr double least = 1. / 32;
    constexpr std::int64_t unit = 512;  // products of fewer columns are slow
    if (end_ && end_->reached()) {
      seconds_ = std::exchange(end_, nullptr)->seconds_since(*measured_from_);
      measured_part_ = part_ > 0 ? part_ : 1;
    }
    const double column = times.update_of_element() * static_cast<double>(rows);
    if (fixed_ >= 0 || seconds_ == 0 || column == 0)
      return share(fixed_ < 0 ? least : fixed_, first);
    for (double part = least; part < 1; part *= 2) {
      const double needed = seconds_ * measured_part_ / part * (1 - part) / column;
      if (needed <= static_cast<double>(columns))
        return share(part, round_up(static_cast<std::int64_t>(needed) + 1, unit));
    }
    return share(0, 0);
  }

  /// The panel has been given to its queue. What is given from now on has the whole device, behind
  /// the panel where that has the whole device too.
  void end() {
    measured_from_ = begin_;
    end_ = panels_.record();
    if (part_ == 0) updates_.wait(*end_);
    device_.share(0);
  }

 private:
  std::int64_t share(double part, std::int64_t columns) {
    part_ = part;
    device_.share(part);
    return columns;
  }

  Device& device_;
  Queue& panels_;
  Queue& updates_;
  double fixed_;
  EventPtr begin_;
  EventPtr measured_from_;  // the newest panel that was given, until it is measured
  EventPtr end_;
  double part_ = 0;           // of the present panel; 0: the whole device
  double measured_part_ = 1;  // of the newest panel that was measured
  double seconds_ = 0;        // that it took
};

}  // namespace lupine
