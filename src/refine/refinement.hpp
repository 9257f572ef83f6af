// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// From low-precision factors to an FP64 solution.
#pragma once

#include <lupine/benchmark.hpp>
#include <lupine/options.hpp>

#include <cstdint>
#include <span>
#include <vector>

#include "comm/process_grid.hpp"
#include "core/clock.hpp"
#include "core/trace.hpp"
#include "device/device.hpp"
#include "element/matrix_spec.hpp"
#include "matrix/distributed_matrix.hpp"
#include "refine/lu_solver.hpp"
#include "refine/system.hpp"
#include "transport/transport.hpp"

namespace lupine {

/// When x is good enough.
enum class StopRule {
  benchmark,     ///< the scaled residual is below 1 (HPL-MxP asks for 16)
  componentwise  ///< max_i |r_i| / (|A||x| + |b|)_i is at most a tolerance
};

struct RefineOptions {
  RefineMethod method = RefineMethod::automatic;
  int max_iterations = 50;   ///< corrections; for GMRES its inner steps count
  std::int64_t width = 512;  ///< columns of a step of the triangular solves
  StopRule stop = StopRule::benchmark;
  /// Of the componentwise error. 0: default_tolerance(n), what dsgesv asks for by norms; and then
  /// `ir` goes on while the error falls by half, as LAPACK's dgerfs does.
  double tolerance = 0;
  Trace* trace = nullptr;  ///< where to record what it does; null: nowhere
};

/// Seconds of this rank.
struct RefineTimes {
  double solves = 0;
  double residuals = 0;
};

/// Equal on every rank but for x (the rank's part) and the times.
struct RefineOutcome {
  Vector x;  ///< entries of this rank's columns
  int iterations = 0;
  RefineMethod method = RefineMethod::ir;
  /// Scaled residual, or componentwise error, after each correction (GMRES: each restart).
  std::vector<double> history;
  bool converged = false;
  double error = 0;  ///< the one of x
  RefineTimes times;
};

/// sqrt(n) eps, and at least 4 eps; eps = 2^-53.
double default_tolerance(std::int64_t n);

/// Solves the system, from x = 0. Stops by the rule, at the limit, or when the error has twice
/// running fallen by less than half; x is then the best that was found. Collective.
RefineOutcome refine(System& system, LuSolver& solver, const RefineOptions& options,
                     const Clock& clock);

/// The same for the benchmark's A and b.
/// @param pivots as FactorOutcome has them; empty without pivoting
RefineOutcome refine(Transport& transport, const DistributedMatrix& lu,
                     std::span<const std::int64_t> pivots, const MatrixSpec& spec,
                     const RefineOptions& options, const Clock& clock);

/// x = U^-1 L^-1 P b, the entries of this rank's columns. Collective.
Vector solve(Transport& transport, const DistributedMatrix& lu,
             std::span<const std::int64_t> pivots, const MatrixSpec& spec, std::int64_t width,
             Trace* trace = nullptr);

/// ||b - A x|| and the other norms, from A and b regenerated in FP64. Collective.
SystemNorms system_norms(const ProcessGrid& grid, Device& device, const Distribution& rows,
                         const Distribution& columns, const MatrixSpec& spec, const Vector& x);

/// ||Ax-b|| / (eps (||A|| ||x|| + ||b||) n) with eps = 2^-53. NaN if a norm is, or if the
/// denominator overflows: never a small number without a small residual.
double scaled_residual(const SystemNorms& norms, std::int64_t n);

}  // namespace lupine
