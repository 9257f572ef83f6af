// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// What of the rest is updated beside a panel, and with which part of the device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "device/device.hpp"
#include "factor/queue_times.hpp"
#include "factor/sweep.hpp"

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
  /// than the updates beside it, those of `rows` x the columns of the chunks. The forecast: a part
  /// p times as large makes the panel p times as fast. Where all updates are too short, the panel
  /// gets the whole device. @return as many of the chunks as the panel takes; 0: none is beside it
  std::size_t plan(const std::vector<Columns>& chunks, std::int64_t rows, const QueueTimes& times) {
    constexpr double least = 1. / 16;
    if (end_ && end_->reached()) {
      seconds_ = std::exchange(end_, nullptr)->seconds_since(*measured_from_);
      measured_part_ = part_ > 0 ? part_ : 1;
    }
    const double column = times.update_of_element() * static_cast<double>(rows);
    if (fixed_ >= 0 || seconds_ == 0 || column == 0) return share(fixed_ < 0 ? least : fixed_, 1);
    for (double part = least; part < 1; part *= 2) {
      const double needed = seconds_ * measured_part_ / part * (1 - part);
      double updates = 0;
      for (std::size_t i = 0; i < chunks.size(); ++i) {
        updates += column * static_cast<double>(chunks[i].count);
        if (updates >= needed) return share(part, i + 1);
      }
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
  std::size_t share(double part, std::size_t chunks) {
    part_ = part;
    device_.share(part);
    return chunks;
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
