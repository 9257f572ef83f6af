// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// What speedwell::mxp() and speedwell::hpl() return. These types need no mpi.h.
#pragma once

#include <speedwell/options.hpp>

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

}  // namespace speedwell
