// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// What `speedwell compare` compares, and the measurements for one n, as plain values.
#pragma once

#include <speedwell/options.hpp>
#include <speedwell/solution.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/numbers.hpp"
#include "generate/gallery.hpp"
#include "host/lapack.hpp"
#include "setup/run_sensors.hpp"

namespace speedwell {

/// The solvers: HPL-MxP, speedwell::solve with A in memory, HPL, and LAPACK's dgesv (FP64), dsgesv
/// (FP32 factors, refined to FP64), dgesvx (FP64, with condition number and bounds of errors) and
/// dgesvxx (as dgesvx, refined by dgerfsx with residuals in twice FP64's precision).
enum class SolverKind { mxp, solve, hpl, dgesv, dsgesv, dgesvx, dgesvxx };
struct SolverTraits {
  SolverKind solver;
  std::string_view name;
  std::string_view complex_name{};       ///< of LAPACK's driver for a complex system
  std::optional<LapackDriver> lapack{};  ///< nothing: one of Speedwell's
};
constexpr std::array<SolverTraits, 7> solver_table{
    {{SolverKind::mxp, "mxp"},
     {SolverKind::solve, "solve"},
     {SolverKind::hpl, "hpl"},
     {SolverKind::dgesv, "dgesv", "zgesv", LapackDriver::dgesv},
     {SolverKind::dsgesv, "dsgesv", "zcgesv", LapackDriver::dsgesv},
     {SolverKind::dgesvx, "dgesvx", "zgesvx", LapackDriver::dgesvx},
     {SolverKind::dgesvxx, "dgesvxx", "zgesvxx", LapackDriver::dgesvxx}}};
constexpr const SolverTraits& traits(SolverKind solver) {
  return solver_table[static_cast<std::size_t>(solver)];
}

/// What is compared. HPL-MxP takes part once with each of `precisions`, in this order.
struct CompareOptions {
  std::optional<GalleryKind> gallery{};  ///< nothing: the benchmark's matrix, by BenchmarkOptions
  /// Right-hand sides, with a matrix of the gallery; 0: as many as n.
  std::int64_t rhs = 1;
  bool levels = false;  ///< levels of precision are compared, and no other solvers
  /// With a matrix of the gallery: solvers are compared by the error of x, which is known; `solve`
  /// takes part once with each of Accuracy's values.
  bool accuracy = false;
  std::vector<SolverKind> solvers{SolverKind::mxp, SolverKind::solve, SolverKind::hpl,
                                  SolverKind::dgesv, SolverKind::dsgesv};
  std::optional<MonitorOptions> monitor{};  ///< nothing: no samples are taken
  std::vector<Precision> precisions{Precision::bf16, Precision::fp16, Precision::fp32};
};

/// Levels of precision, from the most accurate factors to the least. O0 to O3 have growing parts of
/// the work in 16 bits; see docs/benchmarks.md.
enum class Level { fp64, o0, o1, o2, o3 };
struct LevelTraits {
  Level level;
  std::string_view name;
  std::string_view words;  ///< what has which precision
  bool narrow = false;     ///< A and its factors are stored in 16 bits: LuPlan::narrow
  bool scaled = true;      ///< A is equilibrated before it is rounded
  bool refined = true;     ///< x is refined
};
constexpr std::array<LevelTraits, 5> level_table{
    {{Level::fp64, "fp64", "FP64 throughout"},
     {Level::o0, "O0", "FP32 throughout"},
     {Level::o1, "O1", "products of 16 bits, with panels, sums and factors in FP32"},
     {Level::o2, "O2", "products, panels, sums and factors stored in 16 bits", true},
     {Level::o3, "O3", "as O2, without scaling and refinement", true, false, false}}};
constexpr const LevelTraits& traits(Level level) {
  return level_table[static_cast<std::size_t>(level)];
}

/// Numbers that a rounding has taken out of a precision's range.
struct RangeCounts {
  std::int64_t over = 0;   ///< beyond the largest number: rounded to infinity
  std::int64_t under = 0;  ///< below the smallest normal number, which lose digits, or all
};

/// One solution of the system. An unknown value is NaN. With a benchmark's matrix `seconds` are
/// those of factorization and refinement; with one of the gallery, those of the whole call that a
/// user makes; of a level, those of scaling, factorization and refinement. 0: not begun.
struct Turn {
  double seconds = 0;
  double refine_seconds = unknown;   ///< the part of `seconds` that the refinement took
  double scaled_residual = unknown;  ///< of several right-hand sides, the largest
  std::string failure{};             ///< why the turn gave no solution; empty if it did
  double check_seconds = unknown;    ///< the part of `seconds` for errors of x and condition number
  std::vector<SolveStep> steps{};  ///< speedwell::solve: its steps; if it solved, the last one did
  std::string note{};              ///< what a reader should know of a turn that passed
  std::optional<SensorReport> sensors{};  ///< LAPACK's energy is of the call, in the first phase

  // Where x is known. Not to find it is a result too.
  bool x_is_known = false;
  /// max |x_i - x*_i| / max |x*_i|; infinity where x is not finite, NaN where there is none.
  double error = unknown;
  double bound = unknown;        ///< the solver's own bound of `error`; NaN: it gives none
  double condition = unknown;    ///< the condition number by the solver's estimate
  double first_error = unknown;  ///< of a level: that of the first solve with the factors
  /// Of a level: solves with the factors in the refinement.
  std::optional<int> corrections{};
  std::optional<RangeCounts> matrix{};   ///< of a level: of A, as it was stored
  std::optional<RangeCounts> factors{};  ///< of a level: of L and U, as they are stored

  bool passed() const { return failure.empty(); }
};

/// A solver with its setting, and its turns.
struct ComparedSolver {
  SolverKind solver = SolverKind::mxp;
  Field field = Field::real;              ///< whose numbers the system has
  std::optional<Level> level{};           ///< of speedwell::solve's factors; nothing: as it chooses
  std::optional<Accuracy> accuracy{};     ///< of speedwell::solve; nothing: its default
  double lu_bytes = unknown;              ///< of a level: of a rank's LU, without A in FP64
  Precision precision = Precision::fp64;  ///< precision that its updates read
  std::int64_t nb = 0;                    ///< block size; 0: LAPACK chooses its own
  int ranks = 1;
  int threads = 1;        ///< of a rank
  std::string ceiling{};  ///< name of the ceiling that bounds its rate
  std::string skipped{};  ///< why it takes no part; empty if it does
  std::vector<Turn> turns{};

  /// Whether every turn gave a solution; false where there are no turns.
  bool passed() const;
  /// The turn that took the least time; nullptr where there are no turns.
  const Turn* fastest() const;
};

/// The name of a solver; of a complex system that of LAPACK's complex driver.
std::string_view solver_name(const ComparedSolver& entry);
/// The solver without its precision: "mxp", "solve forward", "zgesv", "O1".
std::string label(const ComparedSolver& entry);
/// As label(), with the precision where that tells solvers apart: "mxp bf16", "O1 fp16".
std::string title(const ComparedSolver& entry);

/// A measured rate that bounds those of solvers.
struct Ceiling {
  std::string name;
  std::string unit;             ///< "GFLOP/s" or "GB/s"
  std::string bounds;           ///< what it bounds, in words: "hpl, dgesv"
  int ranks = 1;                ///< ranks that measured at the same time; `rates` are their sums
  int threads = 1;              ///< of a rank
  std::vector<double> rates{};  ///< one of each round, in `unit`, that did not fail
  std::string failure{};        ///< why a round has no rate; empty if none failed
};

struct Comparison {
  std::int64_t n = 0;
  std::int64_t rhs = 1;  ///< right-hand sides
  std::vector<ComparedSolver> solvers;
  std::vector<Ceiling> ceilings;         ///< with a benchmark's matrix
  std::optional<GalleryKind> gallery{};  ///< nothing: a benchmark's matrix

  /// Whose numbers A has.
  Field field() const { return gallery ? field_of_kind(*gallery) : Field::real; }
  /// Operations of a solution.
  double flops() const;
  /// Whether every solver passed. Ceilings that failed, and systems with a known x that a solver
  /// could not solve, do not count.
  bool passed() const;
};

/// The value in the middle, or the mean of the two there; NaN of none.
double median(std::vector<double> values);
/// Of the turns of a solver that passed; NaN of any other.
double best_seconds(const ComparedSolver& entry);
double median_seconds(const ComparedSolver& entry);
/// The best time of LAPACK's dgesv divided by the solver's; NaN if either is missing.
double ratio_to_dgesv(const ComparedSolver& entry, const Comparison& all);
/// The solver's best rate a rank divided by the best rate a rank of its ceiling; NaN if either is
/// missing.
double share_of_ceiling(const ComparedSolver& entry, const Comparison& all);
/// Correct decimal digits of an x with this error, from 0 to 16; NaN of NaN.
double digits(double error);

}  // namespace speedwell
