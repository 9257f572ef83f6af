// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The measurements of `speedwell compare` for one n, as plain values, and ratios computed from
/// them.
#pragma once

#include <speedwell/options.hpp>
#include <speedwell/solution.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/numbers.hpp"
#include "generate/gallery.hpp"
#include "setup/run_sensors.hpp"

namespace speedwell {

/// The solvers: HPL-MxP, speedwell::solve with A in memory, HPL, and LAPACK's dgesv (FP64), dsgesv
/// (FP32 factors, refined to FP64), dgesvx (FP64, with condition number and bounds of errors) and
/// dgesvxx (as dgesvx, refined by dgerfsx with residuals in twice FP64's precision).
enum class SolverKind { mxp, solve, hpl, dgesv, dsgesv, dgesvx, dgesvxx };
constexpr std::array<std::pair<SolverKind, std::string_view>, 7> solver_names{
    {{SolverKind::mxp, "mxp"},
     {SolverKind::solve, "solve"},
     {SolverKind::hpl, "hpl"},
     {SolverKind::dgesv, "dgesv"},
     {SolverKind::dsgesv, "dsgesv"},
     {SolverKind::dgesvx, "dgesvx"},
     {SolverKind::dgesvxx, "dgesvxx"}}};
constexpr std::string_view name(SolverKind solver) {
  for (const auto& [value, words] : solver_names)
    if (value == solver) return words;
  return "unknown";
}

/// Best and median of the values of all rounds; both are 0 if there are none.
struct Statistics {
  double best = 0;    ///< the largest
  double median = 0;  ///< of an even number, the mean of the two in the middle
};
Statistics statistics(std::vector<double> values);

/// Levels of precision, from the most accurate factors to the least. O0 to O3 have growing parts of
/// the work in 16 bits; see docs/benchmarks.md.
enum class Level { fp64, o0, o1, o2, o3 };
struct LevelTraits {
  Level level;
  std::string_view name;
  std::string_view words;  ///< what has which precision
  bool low = false;        ///< updates read 16 bits
  bool narrow = false;     ///< A and its factors are stored in 16 bits: LuPlan::narrow
  bool scaled = true;      ///< A is equilibrated before it is rounded
  bool refined = true;     ///< x is refined
};
constexpr std::array<LevelTraits, 5> level_table{
    {{Level::fp64, "fp64", "FP64 throughout"},
     {Level::o0, "O0", "FP32 throughout"},
     {Level::o1, "O1", "products of 16 bits, with panels, sums and factors in FP32", true},
     {Level::o2, "O2", "products, panels, sums and factors stored in 16 bits", true, true},
     {Level::o3, "O3", "as O2, without scaling and refinement", true, true, false, false}}};
constexpr const LevelTraits& traits(Level level) {
  return level_table[static_cast<std::size_t>(level)];
}

/// Numbers that a rounding has taken out of a precision's range.
struct RangeCounts {
  std::int64_t over = 0;   ///< beyond the largest number: rounded to infinity
  std::int64_t under = 0;  ///< below the smallest normal number, which lose digits, or all
};

/// What a level has made of a system whose x is known. Not to be solved is a result too.
struct LevelResult {
  int corrections = 0;  ///< solves with the factors in the refinement; 0 without one
  /// max |x_i - x*_i| / max |x*_i| of the first solve with the factors, and of the level's x;
  /// infinity where x is not finite, NaN where there are no factors.
  double first_error = unknown;
  double error = unknown;
  RangeCounts matrix;  ///< A, as it was stored for the factorization
  /// The factors as updates read them; nothing where there are none. Where FP32 factors are rounded
  /// to FP16, those of a step have one scale, by its largest one: that of parts of them may be
  /// larger, and fewer become small.
  std::optional<RangeCounts> factors{};
};

/// How far a solver's x is from the known solution x*, and what the solver says of that.
struct AccuracyResult {
  /// max |x_i - x*_i| / max |x*_i|; infinity where x is not finite, NaN where there is none.
  double error = unknown;
  double bound = unknown;      ///< the solver's own bound of `error`; NaN: it gives none
  double condition = unknown;  ///< the condition number by the solver's estimate
};

/// One solution of the system. An unknown value is NaN. With a benchmark's matrix `seconds` are
/// those of factorization and refinement; with one of the gallery, those of the whole call that a
/// user makes. 0: not begun.
struct Turn {
  double seconds = 0;
  double refine_seconds = unknown;   ///< the part of `seconds` that the refinement took
  double scaled_residual = unknown;  ///< of several right-hand sides, the largest
  std::string failure{};             ///< why the turn gave no solution; empty if it did
  double check_seconds = unknown;    ///< the part of `seconds` for errors of x and condition number
  std::vector<SolveStep> steps{};  ///< speedwell::solve: its steps; if it solved, the last one did
  std::string note{};              ///< what a reader should know of a turn that passed
  std::optional<SensorReport> sensors{};  ///< LAPACK's energy is of the call, in the first phase

  std::optional<LevelResult> level{};        ///< with levels; `failure` says then why there is no x
  std::optional<AccuracyResult> accuracy{};  ///< where x is known, and solvers are compared by it

  bool passed() const { return failure.empty(); }
};

/// A solver with its setting, and its turns.
struct ComparedSolver {
  Field field = Field::real;  ///< whose numbers the system has
  SolverKind solver = SolverKind::mxp;
  std::optional<Level> level{};           ///< of speedwell::solve's factors; nothing: as it chooses
  std::optional<Accuracy> accuracy{};     ///< of speedwell::solve; nothing: its default
  double lu_bytes = unknown;              ///< with levels: of a rank's LU, without A in FP64
  Precision precision = Precision::fp64;  ///< precision that its updates read
  std::int64_t nb = 0;                    ///< block size; 0: LAPACK chooses its own
  int ranks = 1;
  int threads = 1;      ///< of a rank
  std::string ceiling;  ///< name of the ceiling that bounds its rate
  std::string skipped;  ///< why it takes no part; empty if it does
  std::vector<Turn> turns;

  /// Whether every turn gave a solution: false where there are no turns, true for a solver that
  /// was skipped.
  bool passed() const;
};

/// A solver's name in reports: "mxp bf16", "solve forward", "dgesv"; of a complex system
/// "zgesv".
std::string title(const ComparedSolver& entry);
/// The name of a solver; of a complex system that of LAPACK's complex driver.
std::string_view solver_name(SolverKind solver, Field field);

/// A measured rate that bounds those of solvers.
struct Ceiling {
  std::string name;
  std::string unit;             ///< "GFLOP/s" or "GB/s"
  std::string bounds;           ///< what it bounds, in words: "hpl, dgesv"
  int ranks = 1;                ///< ranks that measured at the same time; `rates` are their sums
  int threads = 1;              ///< of a rank
  std::vector<double> rates{};  ///< one of each round, in `unit`; empty: not possible here
  double best_shape_rate = 0;   ///< for products: highest rate of one shape; else 0
  std::string best_shape{};     ///< that shape: "4096 x 4096 x 1024"
  std::string failure{};        ///< why a round has no rate; empty if none failed
};

struct Comparison {
  std::int64_t n = 0;
  std::int64_t rhs = 1;  ///< right-hand sides
  std::vector<ComparedSolver> solvers;
  std::vector<Ceiling> ceilings;         ///< with a benchmark's matrix
  std::optional<GalleryKind> gallery{};  ///< nothing: a benchmark's matrix
  bool by_accuracy = false;              ///< whether x is known, and its errors are compared

  /// Whose numbers A has.
  Field field() const { return gallery ? field_of_kind(*gallery) : Field::real; }
  /// Operations of a solution.
  double flops() const;
  /// Whether this is a comparison of levels.
  bool by_level() const { return !solvers.empty() && solvers.front().level.has_value(); }
  /// Whether x is known; then not to be solved is a result too.
  bool x_is_known() const { return by_accuracy || by_level(); }
  /// Whether every solver passed. Ceilings that failed, and systems with a known x that a level
  /// or a solver could not solve, do not count.
  bool passed() const;
};

/// GFLOP/s of each turn by benchmark_flops(n, rhs); empty for a solver that failed in any turn.
/// @param all the comparison that it belongs to
std::vector<double> rates(const ComparedSolver& entry, const Comparison& all);

/// Median of the turns' seconds; 0 for a solver that failed in any turn, or has no turns.
double median_seconds(const ComparedSolver& entry);

/// The solver's best rate divided by the best rate of LAPACK's dgesv; 0 if either is missing.
double ratio_to_dgesv(const ComparedSolver& entry, const Comparison& all);
/// The solver's best rate a rank divided by the best rate a rank of its ceiling; 0 if either is
/// missing.
double share_of_ceiling(const ComparedSolver& entry, const Comparison& all);
/// The refinement's part of the fastest turn's time; NaN where it is not known.
double refinement_share(const ComparedSolver& entry);
/// The checks' part of the fastest turn's time; NaN where it is not known.
double check_share(const ComparedSolver& entry);
/// Correct decimal digits of an x with this error, from 0 to 16.
double digits(double error);
/// The error of a turn's x where x is known; else NaN.
double known_error(const Turn& turn);
/// The turn that took the least time. @pre there is a turn
const Turn& fastest_turn(const ComparedSolver& entry);

/// The rate of products of one shape, and the part of a run's operations that has this shape.
struct ShapeRate {
  double weight = 0;
  double rate = 0;
};
/// The rate of all operations together, where those of one shape take time weight / rate.
double rate_over_run(std::span<const ShapeRate> shapes);

}  // namespace speedwell
