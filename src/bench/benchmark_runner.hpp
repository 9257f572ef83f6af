// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Runs with one setup.
#pragma once

#include <lupine/benchmark.hpp>

#include <ctime>
#include <optional>
#include <string>

#include "bench/run_tracer.hpp"
#include "bench/step_window.hpp"
#include "factor/lu.hpp"
#include "matrix/distributed_matrix.hpp"
#include "setup/machine.hpp"
#include "setup/plan.hpp"

namespace lupine {

/// A run, and when it was.
struct BenchmarkRun {
  BenchmarkResult result;
  std::time_t begin = 0;  ///< of what is timed
  std::time_t end = 0;
};

/// Why there are no factors, in one line. @pre not result.factored()
std::string no_factors(const BenchmarkResult& result);

/// Equal on every rank.
struct FirstSteps {
  double generation = 0;     ///< seconds of generating the matrix
  double factorization = 0;  ///< seconds of all steps
  double rate = 0;           ///< operations a second in the steps that are timed
};

/// Everything is chosen and checked at construction; every run() generates and solves anew. All
/// members are collective.
class BenchmarkRunner {
 public:
  /// @throws UsageError, AgreedFault: on every rank alike
  BenchmarkRunner(MPI_Comm comm, const BenchmarkOptions& options,
                  const Circumstances& circumstances = {});
  /// With what was planned on the same ranks before, on another Machine.
  BenchmarkRunner(MPI_Comm comm, Setup planned);

  const Setup& setup() const { return setup_; }
  /// Loads, chooses and allocates what runs need, before they are timed. Once: run() does it too.
  void warm_up(Trace* trace = nullptr);
  /// @param traced where not null, on all ranks or none: becomes the run's trace on rank 0
  BenchmarkRun run(const ProgressFunction& progress = {}, RunTrace* traced = nullptr);

  /// Takes other values for what changes the speed alone. False, and nothing changed, where they
  /// would not fit, or a matrix of this size has not `columns` for first_steps().
  bool retune(const Tuning& tuning, std::int64_t columns);
  /// Generates, and factors the first columns: `columns` of them timed, once the look-ahead is
  /// full. @pre retune() has accepted as many
  FirstSteps first_steps(std::int64_t columns);

 private:
  DistributedMatrix generate(const MatrixSpec& spec);
  std::optional<StepWindow> window(const Setup& setup, std::int64_t columns) const;
  ColumnsDone report_to(const ProgressFunction& progress) const;

  const Clock& clock() const { return machine_.clock(); }
  const Communicator& all() const { return machine_.all(); }
  const ProcessGrid& grid() const { return machine_.grid(); }
  Device& device() const { return machine_.device(); }

  Machine machine_;
  Setup setup_;
  bool warm_ = false;
};

}  // namespace lupine
