/// @file
/// Everything that is chosen before a run, and why.
#pragma once

#include <lupine/options.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "comm/communicator.hpp"
#include "comm/run_watch.hpp"
#include "core/clock.hpp"
#include "device/device.hpp"
#include "factor/lu.hpp"
#include "io/profile.hpp"
#include "matrix/footprint.hpp"
#include "setup/sizing.hpp"

namespace lupine {

/// Panels that may be factored ahead: each takes two of the 60 messages in flight that panel
/// broadcasts allow.
constexpr int largest_lookahead = 28;
constexpr int largest_threads = 4096;
constexpr int largest_reserve = 64;
constexpr int largest_leaf = 4096;  // of a pivoted panel: NBMIN
constexpr int largest_parts = 64;   // NDIV

/// @throws UsageError unless the options are in range and go with this number of ranks. Pure.
void check_options(const BenchmarkOptions& options, int ranks);

/// Why each value is what it is; empty where the user gave it.
struct Reasons {
  std::string n, nb, lookahead, chunk, leaf, grid, precision, device, comm, threads;
};

/// Equal on every rank.
struct Setup {
  BenchmarkOptions options;  ///< every zero and `automatic` resolved
  Reasons reasons;
  Footprint footprint;           ///< nb is at most n there
  std::int64_t panel_width = 0;  ///< columns of a step
  MemoryBudget budget;
  int most_threads = 1;            ///< of any rank; options.threads is the least of any
  std::string device;              ///< description, of rank 0
  std::vector<std::string> hosts;  ///< of every rank
  std::vector<std::string> gpus;   ///< of every rank; empty where ranks compute on their host
  std::vector<std::string> notes;  ///< warnings
};

/// What a profile knows it by.
ProfileKey profile_key(const Setup& setup);

/// How a factorization runs in a setup.
FactorOptions factor_options(const Setup& setup);

/// A setup with the device of this rank.
struct PreparedSetup {
  Setup setup;
  DeviceOptions device_options;
  std::unique_ptr<Device> device;  ///< as device_options say; may be given up, and made again
};

/// The same device, whose waits are the watch's from now on. Both must live as long.
Device& watched(Device& device, RunWatch& watch);

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

/// Chooses what the options leave open and refuses what cannot run. Collective.
/// @throws UsageError, AgreedFault: on every rank alike
PreparedSetup prepare(const Communicator& all, const BenchmarkOptions& options, const Clock& clock,
                      const Circumstances& circumstances = {});

}  // namespace lupine
