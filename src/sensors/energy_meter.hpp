// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The energy of the intervals between marks, such as LU and refinement.
#pragma once

#include <limits>
#include <mutex>
#include <string>
#include <vector>

#include "core/clock.hpp"
#include "sensors/energy_counter.hpp"
#include "sensors/ticker.hpp"

namespace speedwell {

/// A domain and its energy in J, for each interval.
struct MeteredDomain {
  EnergyDomain domain;
  std::vector<Sensed<>> joules;
};

/// Reads the counters that it is given. The caller says which: a GPU's belong to the first rank
/// that uses it, a node's to the first rank of the node.
class EnergyMeter {
 public:
  /// @param clock must live as long as the meter
  EnergyMeter(const Clock& clock, std::vector<EnergyCounter> counters);

  /// Starts a thread that reads between the marks what wraps around, often enough that it cannot do
  /// so unseen. Without a thread, intervals that are too long for a counter have no figure.
  void start();
  /// Reads all counters, and ends an interval but at the first call. What is to be counted in the
  /// interval must be complete: a GPU's queues must be empty.
  void mark();
  /// What the thread does at every tick.
  void sample();

  /// @return the domains with a figure for each interval, n - 1 after n marks. One that was not
  ///         read at a mark, or not often enough between two, has the reason
  std::vector<MeteredDomain> domains() const;
  /// Seconds since 1970 at each mark, by the system's clock, for a comparison with other meters.
  std::vector<double> unix_times() const;

 private:
  struct Meter {
    EnergyCounter counter;
    Sensed<> latest;                 // J at the latest mark
    double read = 0;                 // when joules() last succeeded
    std::string fault;               // of the interval that has begun; empty for none
    std::vector<Sensed<>> joules{};  // of the intervals that have ended
  };
  /// The counter's J now. Notes a fault if too much time has passed.
  static Sensed<> read(Meter& meter, double now);

  const Clock& clock_;
  mutable std::mutex mutex_;
  std::vector<Meter> meters_;
  std::vector<double> unix_times_;
  double interval_ = std::numeric_limits<double>::infinity();  // of the thread, in seconds
  Ticker ticker_;  // the last member, since its thread uses the others
};

}  // namespace speedwell
