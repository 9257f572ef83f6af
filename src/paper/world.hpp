// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The simulated ranks of a run on a simulated machine. All ranks live in this process: each is an
/// actor of SimGrid, which runs until it waits for simulated time to pass.
#pragma once

#include <simgrid/forward.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "device/paper.hpp"
#include "model/machine_model.hpp"
#include "paper/timeline.hpp"

namespace speedwell::paper {

/// What all ranks of the run have in common.
struct Scenario {
  MachineModel machine;
  int ranks = 1;
  int corrections = 3;     ///< of the refinement, which cannot see when it has converged
  std::uint64_t seed = 1;  ///< of the pivots, which are drawn at random
};

/// The precision by which the device's file has this operation: FP32, unless it has a row for the
/// precision itself.
inline Precision row_of(const DeviceModel& device, OperationKind kind, Precision precision) {
  return device.operations.contains({kind, precision}) ? precision : Precision::fp32;
}

/// row_of() the products of updates: a GPU computes fp16x3 as three products of fp16.
inline Precision product_row(const DeviceModel& device, Precision update) {
  return row_of(device, OperationKind::product,
                update == Precision::fp16x3 ? Precision::fp16 : update);
}

/// What the devices of the scenario say of themselves.
Paper paper_of(const Scenario& scenario);

/// Device memory: addresses in a range that no operation reads or writes. Pieces of at most
/// `largest_real` bytes are real memory, since control data and pivots travel in them.
class Memory {
 public:
  static constexpr std::int64_t largest_real = std::int64_t{1} << 17;
  /// Null where it does not fit.
  void* allocate(std::int64_t bytes, double capacity);
  void release(void* data);
  double used() const { return used_; }
  /// Whether `data` may be read and written.
  static bool real(const void* data);

 private:
  struct RealPiece {
    std::unique_ptr<std::byte[]> memory;
    std::int64_t bytes = 0;
  };
  std::map<std::int64_t, std::int64_t> pieces_;  // bytes of the pieces of the range, by their begin
  std::map<void*, RealPiece> real_;
  double used_ = 0;
};

/// A flag for which one actor waits until another one raises it.
class Signal {
 public:
  bool raised() const { return raised_; }
  void raise();
  void wait();

 private:
  bool raised_ = false;
  int waiting_ = 0;                  // actors
  simgrid::s4u::SemaphorePtr gate_;  // null until an actor waits
};

/// One simulated rank.
struct Rank {
  const Scenario* scenario = nullptr;
  int number = 0;
  simgrid::s4u::Host* host = nullptr;  ///< for messages of MPI, and between nodes
  simgrid::s4u::Host* link = nullptr;  ///< for messages between devices of a node; may be `host`
  double owed = 0;                     ///< host time that has not passed in the simulation yet
  std::unique_ptr<Timeline> timeline;  ///< of its GPU
  Memory memory;
  std::uint64_t drawn = 0;                      ///< random numbers so far
  std::uint64_t equal_vectors = 0;              ///< EqualVectors so far
  std::int64_t order = 0;                       ///< of the matrix that was generated last
  std::vector<std::function<void()>> at_end{};  ///< end the rank's workers
  bool connected =
      false;  ///< its GPU has peers, so a host that waits for an event does nothing else
  const Moment* asked =
      nullptr;  ///< the moment that the host has asked for last, and nothing since
  double asked_since = 0;

  const DeviceModel& device() const { return scenario->machine.device; }
  int node() const { return number / scenario->machine.devices; }
  /// The time of this rank's host.
  double now() const;
  /// Host time that passes before anything else that this rank does.
  void owe(double seconds) { owed += seconds; }
  /// Lets the host time pass that is owed.
  void pay();
  /// Makes the host wait for a moment, and for the time until it learns of it.
  void wait(const MomentPtr& moment);
  /// A random number in [0, 1), the same in every run with the same seed.
  double draw();
  /// A random row from `first` to the last one of the matrix, the same on every rank.
  std::int64_t draw_row(std::int64_t first) const;
};

/// The rank whose actor is running.
Rank& self();

/// Simulated seconds since the beginning.
double simulated_time();
void sleep_until(double time);
void sleep_for(double seconds);

/// Sends bytes between two ranks' devices, and waits until they have arrived.
void transfer(const Rank& from, const Rank& to, double bytes);
/// The seconds that one byte and an empty message take between two ranks' devices, without traffic.
LinkModel link_between(const Rank& from, const Rank& to);

/// Starts an actor for a rank's device, which Rank::at_end has to end.
void start_worker(Rank& rank, const std::function<void()>& work);

/// Runs work(rank) as every rank of the scenario, from first to last, in simulated time. Only one
/// simulation can run in a process.
/// @throws Fault if ranks wait for each other, and nothing else happens
void simulate(const Scenario& scenario, const std::function<void()>& work);

}  // namespace speedwell::paper
