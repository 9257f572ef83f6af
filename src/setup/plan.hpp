// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The plan of a run: precision, order, block size and all other values that are chosen for a
/// problem on a machine before the run starts, with the reasons.
#pragma once

#include <lupine/options.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include "factor/lu.hpp"
#include "io/profile.hpp"
#include "matrix/footprint.hpp"
#include "setup/machine.hpp"
#include "setup/sizing.hpp"

namespace lupine {

/// Why each value was chosen; empty where the user gave the value.
struct Reasons {
  std::string n, nb, lookahead, chunk, leaf, precision;
};

/// Everything that is settled about a run before it starts: plain values, equal on every rank.
struct Setup {
  BenchmarkOptions asked;    ///< as they were given
  BenchmarkOptions options;  ///< with every zero and `automatic` resolved
  MachineFacts machine;
  Reasons reasons;
  Footprint footprint;           ///< its nb is at most n
  std::int64_t panel_width = 0;  ///< columns of a step
  MemoryBudget budget;
  std::vector<std::string> notes;  ///< warnings, including those of the machine
};

/// The key of a setup in the profile of `lupine tune`.
ProfileKey profile_key(const Setup& setup);

/// The options of the factorization in a setup.
FactorOptions factor_options(const Setup& setup);

/// Whether A is kept in FP64 beside its factors: not at all, in the user's host memory, in the
/// user's part of the device's own memory, or as a copy. On a GPU that computes in its own memory,
/// `in_place` needs a copy too.
enum class Kept { not_at_all, in_place, on_device, copy };

/// What plan() takes into account beside the options; equal on every rank.
struct Circumstances {
  std::int64_t most_n = 0;  ///< upper limit of a chosen n; 0: none
  Profile profile{};        ///< its entries take precedence over the table of defaults
  Kept kept = Kept::not_at_all;
  /// Block size of an A that lies in place in these blocks, at least 1; it becomes a copy if the
  /// options name another block size, or if the blocks are less than half as wide as those that
  /// plan() would choose, and memory allows the copy. 0: any block size is possible in place.
  std::int64_t nb_in_place = 0;
  /// The precision of the largest factors for which a copy that plan() chooses must leave room;
  /// automatic: that of the options.
  Precision last = Precision::automatic;
  const char* size = "-N";  ///< name of n in messages
};

/// Chooses the values that the options leave open, and refuses a problem that cannot run on the
/// machine. Grid, device, comm and threads are the machine's: those in `options` are ignored.
/// Collective.
/// @throws UsageError, AgreedFault: the same one on every rank
Setup plan(const Machine& machine, const BenchmarkOptions& options,
           const Circumstances& circumstances = {});

}  // namespace lupine
