// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// What the sensors of all ranks and nodes say of a run: its energy, and samples taken beside it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "comm/communicator.hpp"
#include "core/run_meter.hpp"
#include "sensors/energy_meter.hpp"
#include "sensors/energy_report.hpp"
#include "sensors/monitor.hpp"

namespace speedwell {

/// What was read in a run.
struct SensorReport {
  EnergyReport energy;
  /// A JSON object of each rank's samples; empty: none were asked for.
  std::vector<std::string> monitors;
};

/// Meters the energy of the timed part of runs: the stages of factorization on one side, those of
/// refinement, or of the solution, on the other. With options of a monitor, samples all of the run
/// from its first stage on. Each rank reads its GPU, and the first rank of a node the node's
/// counters and processors.
class RunSensors final : public RunMeter {
 public:
  /// Collective. @param monitor equal on every rank @param files of the node's counters
  explicit RunSensors(const Communicator& all, std::optional<MonitorOptions> monitor = {},
                      SystemFiles files = SystemFiles());

  void uses_gpu(const std::string& identity, const std::string& name) override;
  void stage_begins() override;
  void stage_ends(Activity stage) override;
  void add_samples(Trace& trace) const override;

  /// What was read since the last call, or since the construction; complete on rank 0. Collective.
  SensorReport take(const Communicator& all);

 private:
  /// Makes the meter anew.
  void prepare();
  /// Begins with the first stage after take().
  void start_monitor();
  void mark(std::optional<std::size_t> phase) noexcept;

  SteadyClock clock_;
  SystemFiles files_;
  bool reads_node_;
  std::optional<MonitorOptions> options_;
  std::string gpu_;  // DeviceMemory::identity; empty: none
  std::string gpu_name_;
  std::optional<EnergyMeter> meter_;
  std::optional<Monitor> monitor_;
};

}  // namespace speedwell
