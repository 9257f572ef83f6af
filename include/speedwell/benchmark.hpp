// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The benchmarks HPL-MxP and HPL as functions. docs/numerics.md has the formulas and the rules.
#pragma once

#include <mpi.h>
#include <speedwell/benchmark_result.hpp>  // IWYU pragma: export
#include <speedwell/export.hpp>
#include <speedwell/options.hpp>
#include <speedwell/progress.hpp>

namespace speedwell {

/// Runs HPL-MxP: generates A and b, factors A, refines x, and verifies x. A zero pivot, a residual
/// that is too large and a refinement that does not converge are results, not exceptions.
///
/// Collective over `comm`. The calling thread makes all MPI calls, so MPI_THREAD_FUNNELED
/// suffices. One thread of a process at a time may call it.
/// @param comm the ranks of the process grid
/// @param options equal on every rank
/// @param progress called on rank 0 while A is factored; empty: not called
/// @param interrupt asked whether to end the call; empty: not asked
/// @return the times, the rates and the judgement of the run
/// @throws UsageError (every rank) where the options are not allowed, the problem does not fit, or
///         MPI is not initialized
/// @throws Interrupted (every rank) where any rank's `interrupt` has returned true
/// @throws AgreedFault (every rank) where memory, MPI or the device fails and all ranks know it
/// @throws Fault (one rank, which it names) where the other ranks may not know it: the program
///         should then end all ranks (MPI_Abort)
SPEEDWELL_API BenchmarkResult mxp(MPI_Comm comm, const BenchmarkOptions& options,
                                  const ProgressFunction& progress = {},
                                  const InterruptFunction& interrupt = {});

/// Runs HPL: generates A and b, factors A in FP64 with partial pivoting, solves once, and verifies
/// x. It ignores the precision, the pivoting, the matrix and the refinement of `options`. Otherwise
/// it is called as mxp() is.
/// @param comm the ranks of the process grid
/// @param options equal on every rank
/// @param progress called on rank 0 while A is factored; empty: not called
/// @param interrupt asked whether to end the call; empty: not asked
/// @return the times, the rates and the judgement of the run
/// @throws UsageError as mxp() does
/// @throws Interrupted as mxp() does
/// @throws AgreedFault as mxp() does
/// @throws Fault as mxp() does
SPEEDWELL_API BenchmarkResult hpl(MPI_Comm comm, const BenchmarkOptions& options,
                                  const ProgressFunction& progress = {},
                                  const InterruptFunction& interrupt = {});

}  // namespace speedwell
