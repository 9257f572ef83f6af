// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The plan of a run: precision, order, block size and all other values that are chosen for a
/// problem on a machine before the run starts, with the reasons.
#pragma once

#include <speedwell/options.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include "grid/lu_plan.hpp"
#include "io/profile.hpp"
#include "setup/machine.hpp"
#include "setup/sizing.hpp"

namespace speedwell {

/// Why each value was chosen; empty where the user gave the value.
struct Reasons {
  std::string n, nb, lookahead, chunk, leaf, precision;
};

/// Whether A is kept in FP64 beside its factors: not at all, in the user's host memory, in the
/// user's part of the device's own memory, or as a copy. On a GPU that computes in its own memory,
/// `in_place` needs a copy too.
enum class Kept { not_at_all, in_place, on_device, copy };

/// What is asked of an LU; equal on every rank. Zeros and `automatic` are left to plan().
struct LuRequest {
  RunOptions run;      ///< grid, device, comm and threads are ignored: they are the machine's
  std::int64_t n = 0;  ///< order of A; 0: the largest that fits `memory_fraction` and `time_target`
  Precision precision = Precision::automatic;
  Field field = Field::real;  ///< complex: with pivoting
  bool narrow = false;        ///< see LuPlan; of a precision of 16 bits
  Pivoting pivoting = Pivoting::none;
  int leaf = 0;                ///< see LuPlan
  int ndiv = 2;                ///< see LuPlan
  double memory_fraction = 0;  ///< share of the free memory that a chosen n, and wide panels, fill
  double time_target = 0;      ///< seconds that a run with a chosen n may take; 0: no limit
  std::int64_t most_n = 0;     ///< upper limit of a chosen n; 0: none
  Profile profile{};           ///< its entries take precedence over the table of defaults
  Kept kept = Kept::not_at_all;
  bool certified = false;  ///< see LuPlan
  /// Block size of an A that lies in place in these blocks, at least 1; it becomes a copy if the
  /// options name another block size, or if the blocks are less than half as wide as those that
  /// plan() would choose, and memory allows the copy. 0: any block size is possible in place.
  std::int64_t nb_in_place = 0;
  /// The precision of the largest factors for which a copy that plan() chooses must leave room;
  /// automatic: that of the request.
  Precision last = Precision::automatic;
  const char* size = "-N";  ///< name of n in messages
};

/// Everything that is settled about an LU before it starts: plain values, equal on every rank.
struct LuSetup {
  LuPlan lu;
  RunOptions run;     ///< as asked for, with every open value resolved; its nb may exceed n
  bool fast = false;  ///< whether a 16-bit update is much faster than FP32's
  double memory_fraction = 0;
  MachineFacts machine;
  Reasons reasons;
  MemoryBudget budget;
  std::vector<std::string> notes;  ///< warnings, including those of the machine

  /// Settles what no other choice depends on, and what may so change in a setup: broadcast, leaf
  /// and ndiv.
  void settle_free(const LuRequest& request);
};

/// Chooses the values that the request leaves open, and refuses a problem that cannot run on the
/// machine. Collective.
/// @throws UsageError, AgreedFault: the same one on every rank
LuSetup plan(const Machine& machine, const LuRequest& request);

/// Everything that is settled about a benchmark, or about another solver of its system.
struct Setup : LuSetup {
  Setup() = default;
  /// @param given the options as they were given @param settled what is settled about their LU
  Setup(const BenchmarkOptions& given, LuSetup settled);

  BenchmarkOptions asked;    ///< as they were given
  BenchmarkOptions options;  ///< with every zero and `automatic` resolved
};

/// What a benchmark asks of its LU.
LuRequest request_of(const BenchmarkOptions& options);

/// Plans a benchmark, and checks its options. Collective.
/// @param most_n,profile see LuRequest
/// @throws UsageError, AgreedFault: the same one on every rank
Setup plan(const Machine& machine, const BenchmarkOptions& options, std::int64_t most_n = 0,
           const Profile& profile = {});

/// The key of an LU in the profile of `speedwell tune`.
ProfileKey profile_key(const LuSetup& setup);

}  // namespace speedwell
