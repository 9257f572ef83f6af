// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The energy of phases, such as LU and refinement.
#pragma once

#include <cstddef>
#include <limits>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/clock.hpp"
#include "core/numbers.hpp"
#include "sensors/energy_counter.hpp"
#include "sensors/ticker.hpp"

namespace speedwell {

/// A domain and its energy in J, for each phase.
struct MeteredDomain {
  EnergyDomain domain;
  std::vector<Sensed<>> joules;
};

/// Reads the counters that it is given. The caller says which: a GPU's belong to the first rank
/// that uses it, a node's to the first rank of the node.
class EnergyMeter {
 public:
  /// @param clock must live as long as the meter @param phases their number
  EnergyMeter(const Clock& clock, std::vector<EnergyCounter> counters, std::size_t phases);

  /// Starts a thread that reads between the marks what wraps around, often enough that it cannot do
  /// so unseen. Without a thread, phases that are too long for a counter have no figure.
  void start();
  /// Reads all counters, and adds what was counted since the latest mark to the phase; nothing: to
  /// none. What is to be counted must be complete: a GPU's queues must be empty.
  void mark(std::optional<std::size_t> phase);
  /// What the thread does at every tick.
  void sample();

  /// @return the domains with a figure for each phase; none before a phase was counted. One that
  /// was
  ///         not read at a mark of the phase, or not often enough between two, has the reason
  std::vector<MeteredDomain> domains() const;
  /// Seconds since 1970 where the first phase began and where the last one ended, by the system's
  /// clock, for a comparison with other meters; NaN before a phase was counted.
  std::pair<double, double> unix_times() const;

 private:
  struct Meter {
    EnergyCounter counter;
    std::vector<Sensed<>> joules;  // of the phases
    double read = 0;               // when joules() last succeeded
    Sensed<> latest{};             // J at the latest mark
    std::string fault{};           // since the latest mark; empty for none
  };
  /// The counter's J now. Notes a fault if too much time has passed.
  static Sensed<> read(Meter& meter, double now);

  const Clock& clock_;
  mutable std::mutex mutex_;
  std::vector<Meter> meters_;
  std::pair<double, double> unix_times_{unknown, unknown};
  std::optional<double> latest_mark_;                          // in seconds since 1970
  double interval_ = std::numeric_limits<double>::infinity();  // of the thread, in seconds
  Ticker ticker_;  // the last member, since its thread uses the others
};

}  // namespace speedwell
