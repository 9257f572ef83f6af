/// @file
/// The HPL-MxP benchmark as a function.
#pragma once

#include <mpi.h>
#include <lupine/export.hpp>
#include <lupine/options.hpp>

#include <cstdint>
#include <functional>
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

/// Outcome of one HPL-MxP run; equal on every rank.
struct BenchmarkResult {
  BenchmarkOptions chosen;             ///< the options with every zero and `automatic` resolved
  std::int64_t panel_width = 0;  ///< columns of a step: nb, or less where nb would not fit
  double seconds = 0;            ///< factorization, scaling, refinement
  double lu_seconds = 0;
  double refine_seconds = 0;
  double gflops = 0;                       ///< (2/3 n^3 + 3/2 n^2) / seconds / 1e9
  double lu_gflops = 0;                    ///< the same operations over lu_seconds
  int iterations = 0;                      ///< corrections, the first LU solve included
  RefineMethod method = RefineMethod::ir;  ///< the one that ended the refinement
  std::vector<double> history;             ///< scaled residual after each correction
  SystemNorms norms;
  double scaled_residual = 0;      ///< ||Ax-b|| / (eps (||A|| ||x|| + ||b||) n), eps = 2^-53
  bool passed = false;             ///< scaled_residual < 16 within max_iterations
  bool admissible = false;         ///< by the rules of the HPL-MxP list
  std::vector<std::string> notes;  ///< why not admissible, warnings
  std::int64_t bad_pivot = -1;     ///< 0-based step index of a zero or non-finite pivot, or -1
  PhaseTime panel, broadcast, update, solves, residuals;
};

/// Progress of the factorization, from rank 0.
struct Progress {
  std::int64_t columns_done = 0;
  std::int64_t n = 0;
  double seconds = 0;
};
using ProgressFunction = std::function<void(const Progress&)>;

/// Generates A and b, factors, refines and verifies. Collective over `comm`.
/// @pre MPI is initialized; the calling thread makes all MPI calls.
/// @throws UsageError (on every rank) where the options are not allowed or the problem does not
///         fit; Fault where memory, MPI or the device fails: on every rank where it is met before
///         the factorization, on one alone later, which should then end all (MPI_Abort).
LUPINE_API BenchmarkResult mxp(MPI_Comm comm, const BenchmarkOptions& options,
                         const ProgressFunction& progress = {});

}  // namespace lupine
