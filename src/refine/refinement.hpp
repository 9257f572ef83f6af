// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The refinement: an FP64 solution from low-precision factors. Formulas and sources:
/// docs/numerics.md.
#pragma once

#include <speedwell/benchmark_result.hpp>
#include <speedwell/options.hpp>

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "comm/process_grid.hpp"
#include "device/device.hpp"
#include "element/matrix_spec.hpp"
#include "grid/lu_plan.hpp"
#include "matrix/distributed_matrix.hpp"
#include "refine/factor_solver.hpp"
#include "refine/lu_solver.hpp"
#include "refine/system.hpp"
#include "transport/transport.hpp"

namespace speedwell {

/// The error of x by which the refinement decides, and when it is small enough. r = b - A x.
enum class StopRule {
  benchmark,     ///< the scaled residual, below 1 (HPL-MxP itself requires 16)
  componentwise  ///< max_i |r_i| / (|A||x| + |b|)_i, below a tolerance
};

struct RefineOptions {
  RefineMethod method = RefineMethod::automatic;
  /// Largest number of solves with the factors. A correction of `ir` takes one solve; a GMRES cycle
  /// takes one for its right-hand side and one for each of its steps.
  int max_iterations = 50;
  std::int64_t width = 512;  ///< columns of a step of the factorization, for the triangular solves
  StopRule stop = StopRule::benchmark;
  /// Tolerance of StopRule::componentwise. 0: default_tolerance(n), the factor by which LAPACK's
  /// dsgesv judges norms; then, for Device::few_vectors at most, `ir` also goes on below it while
  /// the error at least halves, as LAPACK's dgerfs does.
  double tolerance = 0;
  /// Seconds that further corrections of all right-hand sides are worth: the time of what would be
  /// done instead. The refinement gives up where it forecasts that they take longer.
  double worth = std::numeric_limits<double>::infinity();
  /// Whether x itself is refined to its last digit, and not only its backward error: with residuals
  /// in twice FP64's precision, x kept as the sum of two vectors, until its corrections have become
  /// small beside it. For systems that are System::is_extended().
  bool forward = false;
  /// Without `forward`: seconds that the same may take once the backward errors are small, as far
  /// as the seconds of a correction and the rate of the corrections predict; 0: it is not done.
  /// For up to Device::few_vectors that `ir` refines, in systems as above.
  double forward_worth = 0;
  /// With `forward` or forward_worth: the weights of the entries of x, along columns, in the norm
  /// by which a correction is small; empty: ones.
  Vector weights{};
  /// With `forward`: the condition number of A, by which errors are bounded in norm; collective.
  /// An x is then refined until that bound is small, whatever its entries are, and the residuals of
  /// more than Device::few_vectors right-hand sides are updated in FP64 after corrections that are
  /// small enough for it. Infinity: not known. Empty: x is refined in its worst entry too, by
  /// residuals of its own.
  std::function<double()> condition{};
  /// Takes so many corrections of `ir`, whatever the errors are; 0: decides by the errors. For
  /// devices that compute nothing (Device::on_paper).
  int corrections = 0;
};

/// Seconds of this rank.
struct RefineTimes {
  double solves = 0;     ///< solves with the factors
  double residuals = 0;  ///< residuals, and GMRES's products with A
  /// With forward_worth: the part of both for x to its last digit, or what it would at least take;
  /// of the slowest rank.
  double forward = 0;
};

/// The result of a refinement, for one right-hand side. All members but the vectors and the times
/// are equal on every rank.
struct RefineOutcome {
  Vector x;         ///< the best x found, along columns
  Vector residual;  ///< b - A x, along rows
  Vector bound;     ///< |A| |x| + |b|, along rows; see System::errors()
  /// The checksums of the x and the b with which `residual` was computed: it holds for no other
  /// ones. Nothing where there is no residual, or where x changed while it was refined.
  std::optional<MatrixChecksum> x_read{};
  std::optional<MatrixChecksum> b_read{};
  int iterations = 0;                      ///< solves with the factors
  RefineMethod method = RefineMethod::ir;  ///< the method that ran last
  /// The error by the stop rule after each correction of `ir`, and after each GMRES cycle.
  std::vector<double> history;
  bool converged = false;  ///< whether the error of x is small enough
  /// Solves that were forecast to be still needed when the refinement gave up; 0: it did not.
  double forecast = 0;
  bool forward = false;  ///< whether x itself was refined
  // With `forward` alone ------------------------------------------------------------
  Vector low{};       ///< x + low is the solution before it was rounded to x
  Vector extended{};  ///< b - A (x + low), along rows
  /// The error of `extended`_i beside System::extended_error() is at most `drift` times the sum of
  /// row i of |A|: it was computed so many corrections ago, and updated since, in FP64.
  double drift = 0;
  int updates = 0;
  /// Bounds of the relative error of x + low in the weighted norm, and in its worst entry, by the
  /// rates at which the corrections fell; infinity where they did not become small enough.
  double norm_error = std::numeric_limits<double>::infinity();
  double entry_error = std::numeric_limits<double>::infinity();
  double error = 0;   ///< the error of x by the stop rule
  RefineTimes times;  ///< for all right-hand sides that were refined together
};

/// The relative error of an x from which on no decimal digit of it is right.
inline constexpr double no_digit = 0.5;

/// max(sqrt(n), 4) eps, eps = 2^-53.
double default_tolerance(std::int64_t n);
/// The componentwise tolerance that was asked for; default_tolerance(n) if that is 0.
inline double componentwise_tolerance(double asked, std::int64_t n) {
  return asked > 0 ? asked : default_tolerance(n);
}

/// Solves A x = b for each vector b, starting from x = 0. Repeats
///     r = b - A x,  L U d = r,  x <- x + d        (`ir`), or the same with
///     (L U)^-1 A d = (L U)^-1 r by GMRES          (`gmres`).
/// Stops when the error is small enough by the stop rule, at max_iterations, or when the error has
/// twice in succession fallen by less than half. With `forward` and many vectors, residuals are
/// FP64 until these can say no more of x. `auto` runs `ir`, and `gmres` after it if the
/// error is not small enough. A forecast extends the latest rate at which the error falls; see
/// docs/numerics.md. All vectors are refined together, with one solve and one product for all of
/// them; a vector that stops leaves the others. A b with an Inf or NaN stops at once. Collective.
/// @param b along rows; with StopRule::benchmark one vector
/// @return one outcome for each vector
std::vector<RefineOutcome> refine(System& system, FactorSolver& solver, const MultiVector& b,
                                  const RefineOptions& options);

/// Bytes of the vectors of a refinement, on the rank that has the most.
double refine_bytes(const LuPlan& plan);

/// Refines the solution of a benchmark's system: A and b are generated from `spec`, b in each call
/// and A in each pass over A.
/// @param pivots FactorOutcome::pivots; empty without pivoting
RefineOutcome refine(Transport& transport, const DistributedMatrix& lu,
                     std::span<const std::int64_t> pivots, const MatrixSpec& spec,
                     const RefineOptions& options);

/// x = U^-1 L^-1 P b along columns, with b generated from `spec`: one solve, no refinement.
/// Collective. @param pivots FactorOutcome::pivots; empty without pivoting
Vector solve(Transport& transport, const DistributedMatrix& lu,
             std::span<const std::int64_t> pivots, const MatrixSpec& spec, std::int64_t width);

/// The infinity norms of A, x, b and b - A x, in FP64, from A and b generated again. Collective.
/// @param x along columns
SystemNorms system_norms(const ProcessGrid& grid, Device& device, const Distribution& rows,
                         const Distribution& columns, const MatrixSpec& spec, const Vector& x);

/// ||A x - b|| / (eps (||A|| ||x|| + ||b||) n) with infinity norms and eps = 2^-53: the scaled
/// residual of HPL and HPL-MxP. NaN if a norm is NaN, or if the denominator overflows, so that the
/// result is small only where the residual is.
double scaled_residual(const SystemNorms& norms, std::int64_t n);

}  // namespace speedwell
