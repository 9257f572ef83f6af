// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// What of the rest is updated beside a panel, and with which part of the device.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "core/expects.hpp"
#include "core/numbers.hpp"
#include "device/device.hpp"
#include "factor/factor_run.hpp"
#include "factor/queue_times.hpp"

namespace speedwell {

/// A panel that was measured.
struct PanelTime {
  double seconds = 0;
  double part = 1;  ///< of the device, with which it was factored
};

/// How long a panel takes with a part of the device: seconds(p) = chain + work / p. The chain is
/// the time of dependent steps, which more multiprocessors do not shorten. On an H200, a diagonal
/// block of 2048 beside an update took 7.0, 6.0, 5.4 and 4.6 ms with 8, 16, 24 and 40 of 132.
class PanelLaw {
 public:
  /// Takes what was measured last. Two parts tell the law; with one, a panel is taken to be no
  /// faster with more of the device, and as much slower with less of it.
  void add(const PanelTime& panel) {
    if (newest_ && newest_->part != panel.part) other_ = newest_;
    newest_ = panel;
  }
  bool is_empty() const { return !newest_; }
  bool knows_one_part() const { return newest_ && !other_; }
  const PanelTime& newest() const { return *newest_; }

  double seconds(double part) const {
    const double measured = newest_->seconds;
    if (!other_) return part < newest_->part ? measured * newest_->part / part : measured;
    const double at = 1 / newest_->part;
    const double work = std::clamp((measured - other_->seconds) / (at - 1 / other_->part), 0.0,
                                   measured * newest_->part);
    return measured + work * (1 / part - at);
  }

 private:
  std::optional<PanelTime> newest_;
  std::optional<PanelTime> other_;  // with another part
};

/// What runs side by side in a step.
struct Beside {
  static constexpr double least = 1. / 32;
  double part = 0;           ///< of the device, for the panel; 0: the whole device
  std::int64_t columns = 0;  ///< whose update takes as long as the panel; 0: none is beside it
};

/// The part of the device with which a step is forecast to end first: none, where the panel has the
/// whole device before the updates, or a power of two from 1/32 to 1/2. Then the updates have the
/// rest while the panel takes seconds(p), and the whole device after it: all in all
/// max(seconds(p), updates + p seconds(p)).
/// @param column seconds in which the whole device updates one column
/// @param columns all that are updated in the step
/// @pre column > 0
inline Beside forecast(const PanelLaw& panel, double column, std::int64_t columns) {
  SPEEDWELL_EXPECTS(column > 0);
  constexpr std::int64_t unit = 512;  // products of fewer columns are slow
  const double updates = column * static_cast<double>(columns);
  double best = panel.seconds(1) + updates;
  Beside chosen;
  for (double part = Beside::least; part < 1; part *= 2) {
    const double seconds = panel.seconds(part);
    const double step = std::max(seconds, updates + part * seconds);
    if (step >= best) continue;
    best = step;
    const auto beside = static_cast<std::int64_t>(seconds * (1 - part) / column) + 1;
    chosen = {part, std::min(round_up(beside, unit), std::max<std::int64_t>(columns, 1))};
  }
  return chosen;
}

/// Divides a device whose queues run side by side between a panel and the updates beside it.
/// Without pivoting, "panel" means here its diagonal block alone. Most of a panel's time is that of
/// dependent steps and of passes over memory, so a small part of the device does, as long as
/// updates last that long. Where the smallest does not, a larger one is tried, which tells the law.
class Pace {
 public:
  Pace(Device& device, Queue& updates, const FactorRun& how)
      : device_(device),
        updates_(updates),
        fixed_(how.panel_part),
        rehearsed_(how.rehearses ? 0.5 : 0) {}

  /// Gives the panel the part of the device that forecast() says, for updates of `rows` x `columns`
  /// elements. @param first columns beside the panel where nothing has been measured yet
  /// @return Beside::columns
  std::int64_t plan(std::int64_t rows, std::int64_t columns, std::int64_t first,
                    const QueueTimes& times) {
    if (end_ && end_->reached())
      law_.add(
          {std::exchange(end_, nullptr)->seconds_since(*begin_), now_.part > 0 ? now_.part : 1});
    const double column = times.update_of_element() * static_cast<double>(rows);
    if (rehearsed_ > 0)
      now_ = {next_to_rehearse(), first};
    else if (fixed_ >= 0)
      now_ = {fixed_, first};
    else if (law_.is_empty() || column == 0)
      now_ = {Beside::least, first};
    else if (law_.knows_one_part() && is_longer(law_.newest(), column, columns))
      now_ = {4 * law_.newest().part, columns};
    else
      now_ = forecast(law_, column, columns);
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
  // Whether a panel takes longer than all updates beside it, so that it decides when the step ends.
  static bool is_longer(const PanelTime& panel, double column, std::int64_t columns) {
    return panel.part < 0.25 &&
           panel.seconds * (1 - panel.part) > column * static_cast<double>(columns);
  }
  // Each part that forecast() may choose, one after the other: a device meets them before a run.
  double next_to_rehearse() {
    return std::exchange(rehearsed_, rehearsed_ > Beside::least ? rehearsed_ / 2 : 0.5);
  }

  Device& device_;
  Queue& updates_;
  double fixed_;      // < 0: as measured times say
  double rehearsed_;  // the next part of a rehearsal; 0: this is none
  EventPtr begin_;    // of the newest panel that was given, until it is measured
  EventPtr end_;
  Beside now_;
  PanelLaw law_;
};

}  // namespace speedwell
