// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Several configurations of a benchmark, one after the other.
#pragma once

#include <lupine/options.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "bench/benchmark_runner.hpp"
#include "comm/communicator.hpp"
#include "io/hpl_dat.hpp"

namespace lupine {

/// All runs of one configuration, in turn.
struct Measured {
  Setup setup;
  std::vector<BenchmarkRun> runs;
};

/// A run with its setup; refers to what it was taken from.
struct Representative {
  const Setup& setup;
  const BenchmarkRun& run;
};
/// The run that stands for all: the first that failed, or else the one with the highest rate.
/// @pre the first has a run
Representative representative(const std::vector<Measured>& all);

/// The lines of HPL.dat that mean nothing to a benchmark with these options.
std::span<const HplChoice> ignored_by(const BenchmarkOptions& options);

/// `base` with every combination that `dat` asks for, in HPL's order. Values of 0 are left open.
/// @param dat of a file, or of lists on the command line, which have no path
/// @throws UsageError that names the lines, or the options, where a grid has more than `ranks`, or
///         where a value of a file is more than Lupine takes
std::vector<BenchmarkOptions> configurations(const HplDat& dat, const BenchmarkOptions& base,
                                             int ranks);

/// HPL's options beside HPL-MxP's: the same but for the benchmark, and an order and a block size of
/// its own. 0: chosen
BenchmarkOptions hpl_beside(BenchmarkOptions mxp, std::int64_t n, std::int64_t nb);

/// Runs every configuration on as many of the first ranks as its grid has; the others wait. All
/// members are collective over `world`, and throw UsageError and AgreedFault on every rank alike.
class Campaign {
 public:
  /// Chooses and checks everything, so that nothing is refused once the first run has begun.
  /// @param most_n a chosen order is no larger; 0: no limit
  /// @param profile as plan takes it
  /// @throws UsageError where a grid has more ranks than `world`
  Campaign(const Communicator& world, const std::vector<BenchmarkOptions>& configurations,
           std::int64_t most_n = 0, const Profile& profile = {});

  std::size_t size() const { return setups_.size(); }
  /// Of every configuration, on rank 0; elsewhere of those that the rank has a part in.
  std::vector<Setup> setups() const;

  /// What rank 0 does after each run. @param turn from 0; @param trace empty if it was not traced
  using RunDone = std::function<void(const Setup&, const BenchmarkRun&, int turn, RunTrace trace)>;
  /// Runs configuration i `repeat` times. Returns how many of the runs passed, on every rank.
  /// @param traced the same on every rank
  int run(std::size_t i, int repeat, bool traced, const ProgressFunction& progress,
          const RunDone& done);

 private:
  /// Work of the first ranks; how it ended all learn.
  void on_first(int ranks, const std::function<void(const Communicator&)>& work) const;

  const Communicator& world_;
  std::vector<int> ranks_;  ///< of each configuration
  std::vector<Setup> setups_;
};

}  // namespace lupine
