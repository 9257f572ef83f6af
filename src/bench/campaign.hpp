// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Runs of several configurations of a benchmark, one after the other.
#pragma once

#include <speedwell/options.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "bench/benchmark_runner.hpp"
#include "comm/communicator.hpp"
#include "io/hpl_dat.hpp"

namespace speedwell {

/// A run with its setup: references into the list that it was chosen from.
struct Representative {
  const Setup& setup;
  const BenchmarkRun& run;
};
/// The run that stands for all: the first one that failed, or if none failed, the fastest.
/// @pre the first configuration has a run
Representative representative(const std::vector<Measured>& all);

/// The choices of HPL.dat that have no effect on a benchmark with these options.
std::span<const HplChoice> ignored_by(const BenchmarkOptions& options);

/// `base` with each combination of values in `dat`, in HPL's order. A value of 0 stays open, to be
/// chosen; a look-ahead above 1 is taken as 1.
/// @param dat from a file, or from lists on the command line (its path is then empty)
/// @throws UsageError that names the lines, or the options, where a grid has more than `ranks`
///         ranks, or a value is larger than Speedwell's limit
std::vector<BenchmarkOptions> configurations(const HplDat& dat, const BenchmarkOptions& base,
                                             int ranks);

/// The options of an HPL run beside a run of HPL-MxP: those of `mxp`, with order `n` and block size
/// `nb`. A value of 0 is left open, to be chosen.
BenchmarkOptions hpl_beside(BenchmarkOptions mxp, std::int64_t n, std::int64_t nb);

/// What is recorded beside the runs; equal on every rank.
struct Watching {
  bool traced = false;
  std::optional<MonitorOptions> monitor{};  ///< nothing: no samples are taken
};

/// Runs configurations, each on the first ranks of `world`, as many as its grid has; the other
/// ranks wait. All members are collective over `world`. A UsageError or AgreedFault is thrown on
/// every rank.
class Campaign {
 public:
  /// Plans every configuration, so that none is refused once the first run has begun.
  /// @param most_n upper limit of a chosen order; 0: none
  /// @param profile its entries take precedence over the table of defaults
  /// @throws UsageError where a grid has more ranks than `world`
  Campaign(const Communicator& world, const std::vector<BenchmarkOptions>& configurations,
           std::int64_t most_n = 0, const Profile& profile = {});

  std::size_t size() const { return setups_.size(); }
  /// Setups of all configurations on rank 0; on another rank, of those that it takes part in.
  std::vector<Setup> setups() const;

  /// Called on rank 0 after each run. `turn` counts the runs of a configuration from 0; `trace` is
  /// empty if the run was not traced.
  using RunDone = std::function<void(const Setup&, const BenchmarkRun&, int turn, RunTrace trace)>;
  /// Runs configuration i `repeat` times. Returns the number of runs that passed, on every rank.
  int run(std::size_t i, int repeat, const Watching& how, const ProgressFunction& progress,
          const RunDone& done);

 private:
  /// Runs `work` on the first ranks, with a communicator of these ranks. If it throws a UsageError
  /// or AgreedFault, every rank of the world does.
  void on_first(int ranks, const std::function<void(const Communicator&)>& work) const;

  const Communicator& world_;
  std::vector<int> ranks_;  ///< of each configuration
  std::vector<Setup> setups_;
};

}  // namespace speedwell
