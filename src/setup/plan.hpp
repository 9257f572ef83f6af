// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// What a problem of some size and precision needs on a machine: everything that is chosen before a
/// run, and why.
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

/// Why each value is what it is; empty where the user gave it.
struct Reasons {
  std::string n, nb, lookahead, chunk, leaf, precision;
};

/// Plain values, equal on every rank.
struct Setup {
  BenchmarkOptions asked;    ///< as they were given
  BenchmarkOptions options;  ///< every zero and `automatic` resolved
  MachineFacts machine;
  Reasons reasons;
  Footprint footprint;           ///< nb is at most n there
  std::int64_t panel_width = 0;  ///< columns of a step
  MemoryBudget budget;
  std::vector<std::string> notes;  ///< warnings, the machine's included
};

/// By what the profile of `lupine tune` knows a setup.
ProfileKey profile_key(const Setup& setup);

/// How a factorization runs in a setup.
FactorOptions factor_options(const Setup& setup);

/// Whether A is kept beside its factors, in FP64: where the user has it, or as a copy. A GPU's is a
/// copy always.
enum class Kept { not_at_all, in_place, copy };

/// What a setup depends on beside the options; the same on every rank.
struct Circumstances {
  std::int64_t most_n = 0;  ///< a chosen n is no larger; 0: no limit
  Profile profile{};        ///< what is taken before the table of defaults
  Kept kept = Kept::not_at_all;
  const char* size = "-N";  ///< what messages call n
};

/// Chooses what the options leave open of a problem and refuses what cannot run on the machine.
/// Grid, device and threads are the machine's, whatever the options say of them. Collective.
/// @throws UsageError, AgreedFault: on every rank alike
Setup plan(const Machine& machine, const BenchmarkOptions& options,
           const Circumstances& circumstances = {});

}  // namespace lupine
