// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The benchmarks HPL-MxP and HPL as functions.
#pragma once

#include <mpi.h>
#include <lupine/export.hpp>
#include <lupine/options.hpp>
#include <lupine/progress.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace lupine {

/// Seconds of one phase over the ranks.
struct PhaseTime {
  double average = 0;
  double maximum = 0;
  int slowest_rank = 0;
};

/// Norms of the solved system (infinity norms, FP64, A regenerated).
struct SystemNorms {
  double a = 0;         ///< ||A||
  double x = 0;         ///< ||x||
  double b = 0;         ///< ||b||
  double residual = 0;  ///< ||A x - b||
};

/// Outcome of one run; equal on every rank. What was not computed, since there are no factors or
/// the residual is not checked, is NaN (norms) or 0 (rates).
struct BenchmarkResult {
  BenchmarkOptions chosen;       ///< the options with every zero and `automatic` resolved
  std::int64_t panel_width = 0;  ///< columns of a step: nb, or less where nb would not fit
  double seconds = 0;            ///< factorization, scaling, refinement (HPL: one solve)
  double lu_seconds = 0;
  double refine_seconds = 0;               ///< HPL: of the solve
  double gflops = 0;                       ///< (2/3 n^3 + 3/2 n^2) / seconds / 1e9
  double lu_gflops = 0;                    ///< the same operations over lu_seconds
  int iterations = 0;                      ///< corrections, the first LU solve included; HPL: 0
  RefineMethod method = RefineMethod::ir;  ///< the one that ended the refinement
  std::vector<double> history;             ///< scaled residual after each correction
  SystemNorms norms;
  double scaled_residual = 0;      ///< ||Ax-b|| / (eps (||A|| ||x|| + ||b||) n), eps = 2^-53
  bool passed = false;             ///< factored, scaled_residual < threshold, within max_iterations
  bool admissible = false;         ///< by the rules of the benchmark's list
  std::vector<std::string> notes;  ///< why not admissible, warnings
  std::int64_t bad_pivot = -1;     ///< 0-based index of the first zero or non-finite pivot, or -1
  bool nonfinite = false;          ///< Inf or NaN met in the factorization
  PhaseTime panel, rows, broadcast, update, solves, residuals;

  /// Whether there were factors to solve with.
  bool factored() const { return bad_pivot < 0 && !nonfinite; }
};

/// HPL-MxP: generates A and b, factors, refines and verifies. Collective over `comm`.
/// The calling thread makes all MPI calls.
/// @throws UsageError (every rank) where the options are not allowed, the problem does not fit, or
///         MPI is not initialized; where memory, MPI or the device fails, AgreedFault (every rank)
///         or a Fault that names the one rank that met it, which should then end all (MPI_Abort)
LUPINE_API BenchmarkResult mxp(MPI_Comm comm, const BenchmarkOptions& options,
                               const ProgressFunction& progress = {});

/// HPL: the same in FP64 with partial pivoting, its matrix, and one solve in place of the
/// refinement, whatever `options` say of these.
LUPINE_API BenchmarkResult hpl(MPI_Comm comm, const BenchmarkOptions& options,
                               const ProgressFunction& progress = {});

}  // namespace lupine
