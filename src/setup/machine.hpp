// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The machine that a run computes on: process grid, threads, devices and the connections between
/// devices. Nothing here depends on the problem.
#pragma once

#include <speedwell/options.hpp>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/communicator.hpp"
#include "comm/process_grid.hpp"
#include "comm/run_watch.hpp"
#include "core/run_context.hpp"
#include "device/device.hpp"
#include "host/processor.hpp"
#include "setup/sizing.hpp"
#include "transport/transport.hpp"

namespace speedwell {

/// Why each value of a machine was chosen; empty where the user gave the value.
struct MachineReasons {
  std::string grid, device, comm, threads;
};

/// Facts about the machine: plain values, equal on every rank.
struct MachineFacts {
  RunOptions run;  ///< as given, with grid, device, comm and threads resolved
  MachineReasons reasons;
  int most_threads = 1;            ///< most threads of any rank; run.threads is the fewest
  std::string device;              ///< description of rank 0's device
  std::string fp64;                ///< Device::fp64_products() of rank 0
  std::vector<std::string> hosts;  ///< host name of every rank
  std::vector<std::string> gpus;   ///< GPU of every rank; empty where ranks compute on CPUs
  std::vector<std::string> notes;  ///< warnings
  std::optional<Paper> paper;      ///< of a simulated machine

  /// Copies grid, device, comm and threads, as the machine resolved them, into `options`.
  void settle(RunOptions& options) const;
  GridShape shape() const { return {run.nprow, run.npcol, run.order}; }
};

/// The cores of a rank, which other ranks of its node may share.
struct CoreShare {
  ProcessorInfo processor;
  int node_ranks = 1;  ///< ranks of its node
  int sharing = 1;     ///< those that may run on one of this rank's cores, itself included

  /// Threads of the rank where the user gives no number: the cores are divided among those ranks.
  int threads() const { return std::max(1, processor.bound_cores / sharing); }
};
/// Collective. @throws AgreedFault
CoreShare core_share(const Communicator& all);

/// The process grid, this rank's threads and device, and the transport between the ranks' devices.
/// All of them work in one run, whose watch covers their waits from the constructor on.
class Machine {
 public:
  /// Chooses the values that the options leave open. Collective over `comm`.
  /// @param clock measures all times on this machine
  /// @param hooks the interrupt is null on all ranks or on none
  /// @throws UsageError, AgreedFault: the same one on every rank
  Machine(CommHandle comm, const RunOptions& options,
          std::unique_ptr<const Clock> clock = std::make_unique<SteadyClock>(),
          const RunHooks& hooks = {});
  ~Machine();
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  const MachineFacts& facts() const { return chosen_.facts; }
  /// To which the communicators and the device refer.
  RunContext& run() { return run_; }
  const RunContext& run() const { return run_; }
  const Communicator& all() const { return all_; }
  const ProcessGrid& grid() const { return grid_; }
  Device& device() const { return *chosen_.device; }
  /// Threads of this rank; other ranks may have more or fewer.
  int threads() const { return chosen_.threads; }
  /// The transport of panels between the ranks' devices. The first call makes it, and is
  /// collective.
  Transport& transport();

  /// Memory that is free now, of the rank that has the least. Collective.
  MemoryBudget memory() const { return tightest_budget(all_, device()); }
  /// Whether every rank's device has instructions for updates in this precision. Collective.
  bool native(Precision precision) const;
  /// Adds to `notes` what the devices have met in their work. Collective.
  std::vector<std::string> with_remarks(std::vector<std::string> notes) const;

 private:
  friend class MachineChoice;
  struct Chosen {
    MachineFacts facts;
    int threads = 1;
    std::unique_ptr<Device> device;
  };

  std::unique_ptr<const Clock> clock_;
  RunWatch watch_;
  RunContext run_;
  Communicator all_;
  Chosen chosen_;
  ProcessGrid grid_;
  std::optional<Transport> transport_;
};

}  // namespace speedwell
