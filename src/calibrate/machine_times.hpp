// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Times of single operations on all ranks of a machine at once.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "calibrate/operation_trials.hpp"
#include "setup/machine.hpp"

namespace speedwell {

/// Measures a machine. All ranks measure at the same time, and the slowest one counts. Each
/// function is collective, and its result is equal on every rank.
/// @throws AgreedFault, in every function, where memory is short or a device fails
class MachineTimes {
 public:
  /// @param seconds about how long all measurements take together
  MachineTimes(const Machine& machine, double seconds);

  const Machine& machine() const { return machine_; }
  /// Bytes that a rank may use at a time: a quarter of those that are free.
  double room() const;

  /// The largest order of OperationTrials for which there are time and memory.
  /// @throws AgreedFault if memory does not suffice for any
  std::int64_t choose_order() const;
  /// Seconds of each trial.
  std::vector<double> of(const OperationTrials& trials) const;

  /// Bytes a second of the device's memory, by a large copy.
  double bandwidth() const;
  /// Seconds of a tiny operation among others.
  double start() const;
  /// Seconds that the host spends on giving a device a tiny operation.
  double launch() const;
  /// Seconds that a host spends on waiting for a tiny operation, beside those of the operation.
  double synchronize() const;
  /// Bytes a second of a large copy from the host to the device.
  double host_bandwidth() const;
  /// Seconds of factoring a 64 x 64 matrix.
  double tile() const;

 private:
  double elapsed() const;
  /// Seconds of one repetition of `work`, which repeats something so many times and waits.
  double slowest(double seconds, const std::function<void(int)>& work, int times) const;
  /// use(queue, cast), where cast() casts a tiny matrix: one of the shortest operations.
  template <class Use>
  double with_tiny_casts(const Use& use) const;

  const Machine& machine_;
  const Communicator& all_;
  Device& device_;
  const Clock& clock_;
  double begin_;
  double seconds_;
};

}  // namespace speedwell
