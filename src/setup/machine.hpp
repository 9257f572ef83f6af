// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// What there is to compute on, whatever the problem.
#pragma once

#include <mpi.h>
#include <lupine/options.hpp>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/communicator.hpp"
#include "comm/process_grid.hpp"
#include "comm/run_watch.hpp"
#include "core/clock.hpp"
#include "device/device.hpp"
#include "setup/sizing.hpp"
#include "transport/transport.hpp"

namespace lupine {

/// Why the values of a machine are what they are; empty where the user gave them.
struct MachineReasons {
  std::string grid, device, comm, threads;
};

/// What every rank knows of the machine. Plain values, equal on every rank.
struct MachineFacts {
  RunOptions run;  ///< as given, but for grid, device, comm and threads: resolved
  MachineReasons reasons;
  int most_threads = 1;            ///< of any rank; run.threads is the least of any
  std::string device;              ///< description, of rank 0
  std::vector<std::string> hosts;  ///< of every rank
  std::vector<std::string> gpus;   ///< of every rank; empty where ranks compute on their host
  std::vector<std::string> notes;  ///< warnings

  /// Brings what the machine has settled into the options of a run on it.
  void settle(RunOptions& options) const;
  GridShape shape() const { return {run.nprow, run.npcol, run.order}; }
};

/// The ranks in their grid, this rank's threads and device, and how the devices of ranks meet. What
/// waits on it is watched for stalls from the beginning.
class Machine {
 public:
  /// Chooses what the options leave open. Collective over `comm`.
  /// @param clock what times are measured by
  /// @throws UsageError, AgreedFault: on every rank alike
  Machine(MPI_Comm comm, const RunOptions& options,
          std::unique_ptr<const Clock> clock = std::make_unique<SteadyClock>());
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  const MachineFacts& facts() const { return chosen_.facts; }
  const Clock& clock() const { return *clock_; }
  StallWatch* stalls() const { return watch_.stalls(); }
  const Communicator& all() const { return all_; }
  const ProcessGrid& grid() const { return grid_; }
  Device& device() const { return *chosen_.device; }
  /// Threads of this rank; others may have more, or fewer.
  int threads() const { return chosen_.threads; }
  /// The way of panels between the devices; made when first asked for, which is collective.
  Transport& transport();

  /// Memory that is free now. Collective.
  MemoryBudget memory() const { return tightest_budget(all_, device()); }
  /// Whether updates in that precision have instructions of their own on every rank. Collective.
  bool native(Precision precision) const;

 private:
  friend class MachineChoice;
  struct Chosen {
    MachineFacts facts;
    int threads = 1;
    std::unique_ptr<Device> device;
  };

  std::unique_ptr<const Clock> clock_;
  RunWatch watch_;
  Communicator all_;
  Chosen chosen_;
  ProcessGrid grid_;
  std::optional<Transport> transport_;
};

}  // namespace lupine
