// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Runs of one benchmark with one setup.
#pragma once

#include <speedwell/benchmark_result.hpp>
#include <speedwell/progress.hpp>

#include <ctime>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench/run_tracer.hpp"
#include "bench/step_window.hpp"
#include "core/numbers.hpp"
#include "device/product_choice.hpp"
#include "factor/lu.hpp"
#include "matrix/distributed_matrix.hpp"
#include "setup/machine.hpp"
#include "setup/peak_memory.hpp"
#include "setup/plan.hpp"
#include "setup/run_sensors.hpp"

namespace speedwell {

/// The result of a run, and the calendar time of its timed part.
struct BenchmarkRun {
  BenchmarkResult result;
  std::time_t begin = 0;  ///< before the factorization, not before A is generated
  std::time_t end = 0;
  std::optional<Paper> paper{};  ///< the run was predicted for this simulated machine
  PeakMemory peak{};             ///< measured by a campaign
  /// Bytes of all ranks together that lay in large pages of the hosts' memory at the end of the
  /// timed part; NaN where a rank's system does not tell.
  double large_pages = unknown;
  std::vector<double> update_rates{};     ///< flop/s of each rank's updates; NaN: it has none
  std::optional<SensorReport> sensors{};  ///< read by a campaign, on a real machine
  std::vector<ProductChoice> products{};  ///< of rank 0's device, up to this run
  std::vector<VariantChoice> variants{};
};

/// All runs of one configuration, in their order.
struct Measured {
  Setup setup;
  std::vector<BenchmarkRun> runs;
};

/// The runs of a public call.
struct Series {
  std::vector<BenchmarkOptions> configurations;  ///< of one benchmark, each on all ranks
  int repeat = 1;                                ///< runs of each
  Profile profile{};                             ///< takes precedence over the table of defaults
  /// Takes the trace of each run, on rank 0; empty, on all ranks, for runs without traces.
  std::function<void(const Setup&, int turn, RunTrace trace)> traced{};
};

/// Runs as a public call of the library, which may be ended early. All configurations are planned
/// before the first run. Collective over `comm`. @throws what mxp() and hpl() throw
std::vector<Measured> measure(CommHandle comm, const Series& series,
                              const ProgressFunction& progress, const InterruptFunction& interrupt);

/// Operations of a rank's updates in an LU.
double update_flops(const LuPlan& lu, int rank);

/// Why a run has no factors, in one line. @pre not result.factored()
std::string no_factors(const BenchmarkResult& result);

/// Times of the first steps of a factorization, equal on every rank.
struct FirstSteps {
  double generation = 0;     ///< seconds of generating the matrix
  double factorization = 0;  ///< seconds of all first steps
  double rate = 0;           ///< operations a second in the timed steps
};

/// Runs a benchmark. The constructor chooses and checks everything; each run() generates the
/// system and solves it. All members are collective.
class BenchmarkRunner {
 public:
  /// @throws UsageError, AgreedFault: the same one on every rank
  /// @param hooks the interrupt is null on all ranks or on none
  BenchmarkRunner(CommHandle comm, const BenchmarkOptions& options, const RunHooks& hooks = {},
                  const Profile& profile = {});
  /// Takes a setup that was planned before, on the same ranks and another Machine.
  BenchmarkRunner(CommHandle comm, Setup planned, const RunHooks& hooks = {});

  const Setup& setup() const { return setup_; }
  /// Computes untimed steps, so that kernels are loaded, algorithms chosen and scratch memory
  /// allocated before a run is timed. Only the first call does so; run() makes that call.
  void warm_up();
  /// One run: generates the system, solves it, and verifies the solution.
  /// @param traced takes the run's trace on rank 0; null on every rank for a run without a trace
  BenchmarkRun run(const ProgressFunction& progress = {}, RunTrace* traced = nullptr);

  /// The memory that the ranks have used at most, up to now. @param resident begun on each of them
  PeakMemory peak(const ResidentMeter& resident) const;

  /// Replaces block size, look-ahead and chunk. Returns false, and changes nothing, where the new
  /// values would not fit in memory, or the matrix is too small for first_steps(columns).
  bool retune(const Tuning& tuning, std::int64_t columns);
  /// Generates the matrix and factors its first columns. The first steps fill the look-ahead; the
  /// timed ones after them eliminate at least `columns` columns.
  /// @pre retune() has accepted this number of columns
  FirstSteps first_steps(std::int64_t columns);

 private:
  DistributedMatrix generate(const MatrixSpec& spec);
  std::optional<StepWindow> window(const LuPlan& lu, std::int64_t columns) const;

  const Communicator& all() const { return machine_.all(); }
  const ProcessGrid& grid() const { return machine_.grid(); }
  Device& device() const { return machine_.device(); }

  Machine machine_;
  Setup setup_;
  bool warm_ = false;
};

}  // namespace speedwell
