/// @file
/// Runs with one setup.
#pragma once

#include <lupine/benchmark.hpp>

#include <ctime>

#include "bench/run_tracer.hpp"
#include "bench/setup.hpp"
#include "comm/process_grid.hpp"
#include "core/clock.hpp"
#include "factor/factorization.hpp"
#include "matrix/distributed_matrix.hpp"
#include "transport/transport.hpp"

namespace lupine {

/// A run, and when it was.
struct BenchmarkRun {
  BenchmarkResult result;
  std::time_t begin = 0;  ///< of what is timed
  std::time_t end = 0;
};

/// Everything is chosen and checked at construction; every run() generates and solves anew. All
/// members are collective.
class BenchmarkRunner {
 public:
  /// @throws UsageError, AgreedFault: on every rank alike
  BenchmarkRunner(MPI_Comm comm, const BenchmarkOptions& options);
  /// With what `prepare` has chosen on the same ranks. Makes the device if it was given up.
  BenchmarkRunner(MPI_Comm comm, PreparedSetup prepared);

  const Setup& setup() const { return prepared_.setup; }
  /// @param traced where not null, on all ranks or none: becomes the run's trace on rank 0
  BenchmarkRun run(const ProgressFunction& progress = {}, RunTrace* traced = nullptr);

 private:
  /// Columns of step, precision and pivoting of this setup.
  FactorOptions factor_options() const;
  DistributedMatrix generate(const MatrixSpec& spec);
  void warm_up(const MatrixSpec& spec, Trace* trace);
  ColumnsDone report_to(const ProgressFunction& progress) const;

  SteadyClock clock_;
  Communicator all_;
  PreparedSetup prepared_;
  ProcessGrid grid_;
  Transport transport_;
  bool warm_ = false;
};

}  // namespace lupine
