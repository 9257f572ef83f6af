// SPDX-License-Identifier: BSD-3-Clause
// Calls that one process makes alone.
#include <mpi.h>
#include <omp.h>
#include <speedwell/solve.hpp>

#include "comm/mpi_start.hpp"
#include "device/device.hpp"

namespace speedwell {

namespace {

/// This process alone, with MPI started where it was not.
MPI_Comm started() {
  start_mpi();
  return MPI_COMM_SELF;
}

/// The default number of threads is OpenMP's, as callers of LAPACK expect.
SolveOptions alone(SolveOptions options) {
  if (options.run.threads == 0) options.run.threads = omp_get_max_threads();
  return options;
}

}  // namespace

Factorization::Factorization(const Matrix& a, const SolveOptions& options,
                             const ProgressFunction& progress, const InterruptFunction& interrupt)
    : Factorization(started(), a, alone(options), progress, interrupt) {}

Solution solve(const Matrix& a, const RightHandSide& b, const SolveOptions& options,
               const ProgressFunction& progress, const InterruptFunction& interrupt) {
  return solve(started(), a, b, alone(options), progress, interrupt);
}

void release() {
  release_gpus();
}

}  // namespace speedwell
