// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The benchmarks HPL-MxP and HPL as functions. docs/numerics.md has the formulas and the rules.
#pragma once

#include <mpi.h>
#include <speedwell/export.hpp>
#include <speedwell/options.hpp>
#include <speedwell/progress.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace speedwell {

/// Seconds that the ranks spent in one phase of a run.
struct PhaseTime {
  double average = 0;    ///< over all ranks
  double maximum = 0;    ///< of the slowest rank
  int slowest_rank = 0;  ///< the rank whose time is `maximum`
};

/// Infinity norms of a solved system, in FP64, from A and b generated anew.
struct SystemNorms {
  double a = 0;         ///< ||A||
  double x = 0;         ///< ||x||
  double b = 0;         ///< ||b||
  double residual = 0;  ///< ||A x - b||
};

/// Outcome of one run; equal on every rank. Without factors, rates are 0 and norms are NaN; norms
/// are NaN too where the residual is not checked.
struct BenchmarkResult {
  BenchmarkOptions chosen;  ///< the options, with Speedwell's choice for each that was left open
  std::int64_t panel_width = 0;  ///< columns of a step: nb, or less where nb would not fit
  double seconds = 0;     ///< factorization and refinement (HPL: one solve), of the slowest rank
  double lu_seconds = 0;  ///< factorization, of the slowest rank
  double refine_seconds = 0;               ///< refinement (HPL: one solve), of the slowest rank
  double gflops = 0;                       ///< (2/3 n^3 + 3/2 n^2) / seconds / 1e9
  double lu_gflops = 0;                    ///< (2/3 n^3 + 3/2 n^2) / lu_seconds / 1e9
  int iterations = 0;                      ///< solves with the factors, the first included; HPL: 0
  RefineMethod method = RefineMethod::ir;  ///< ir or gmres: the method that ended the refinement
  std::vector<double> history;     ///< scaled residual after each correction (GMRES: each restart)
  SystemNorms norms;               ///< the norms in the formula of scaled_residual
  double scaled_residual = 0;      ///< ||Ax-b|| / (eps (||A|| ||x|| + ||b||) n), eps = 2^-53
  bool passed = false;             ///< factored, scaled_residual < threshold, within max_iterations
  bool admissible = false;         ///< passed, and within the rules for submitted results
  std::vector<std::string> notes;  ///< warnings, and the reasons why it is not admissible
  std::int64_t bad_pivot = -1;     ///< 0-based index of the first zero or non-finite pivot, or -1
  bool nonfinite = false;          ///< whether Inf or NaN was met in the factorization
  PhaseTime panel;                 ///< factorization of panels
  PhaseTime rows;                  ///< exchange of rows, and solves for block rows of U
  PhaseTime broadcast;             ///< waiting for panels, where no other work hides it
  PhaseTime update;                ///< products of the trailing update
  PhaseTime solves;                ///< solves with the factors
  PhaseTime residuals;             ///< residuals and products with A

  /// @return Whether A was factored, so that there were factors to solve with.
  bool factored() const { return bad_pivot < 0 && !nonfinite; }
};

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
