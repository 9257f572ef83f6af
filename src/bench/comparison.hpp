// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// What `lupine compare` has measured for one n. Plain values, and what follows from them.
#pragma once

#include <lupine/options.hpp>

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/numbers.hpp"

namespace lupine {

/// Who solves the system: HPL-MxP, lupine::solve with A in memory, HPL, and LAPACK in FP64 or
/// refined from FP32.
enum class Solver { mxp, solve, hpl, dgesv, dsgesv };
constexpr std::array<std::pair<Solver, std::string_view>, 5> solver_names{
    {{Solver::mxp, "mxp"},
     {Solver::solve, "solve"},
     {Solver::hpl, "hpl"},
     {Solver::dgesv, "dgesv"},
     {Solver::dsgesv, "dsgesv"}}};
std::string_view name(Solver solver);

/// Best and median of what was measured in each round. 0 and 0 of nothing.
struct Statistics {
  double best = 0;    ///< the largest
  double median = 0;  ///< of an even number, the mean of the two in the middle
};
Statistics statistics(std::vector<double> values);

/// One solution of the system; NaN is what is not known.
struct Turn {
  double seconds = 0;               ///< 0: it was not begun
  double refine_seconds = unknown;  ///< of those
  double scaled_residual = unknown;
  std::string failure{};  ///< why it is no solution; empty: it is one

  bool passed() const { return failure.empty(); }
};

/// A solver, and what it did.
struct Contestant {
  Solver solver = Solver::mxp;
  Precision precision = Precision::fp64;  ///< what its updates read
  std::int64_t nb = 0;                    ///< 0: LAPACK's own
  int ranks = 1;
  int threads = 1;      ///< of a rank
  std::string ceiling;  ///< name of the one that bounds it
  std::string skipped;  ///< why it has no turns; empty: it takes part
  std::vector<Turn> turns;

  /// All turns ended with a solution. False where there is none, true where it was skipped.
  bool passed() const;
};

/// "mxp bf16"; "dgesv".
std::string title(const Contestant& contestant);

/// A rate that bounds others.
struct Ceiling {
  std::string name;
  std::string unit;  ///< "GFLOP/s" or "GB/s"
  std::string bounds;
  int ranks = 1;  ///< that measured at once; the rate is the sum of theirs
  int threads = 1;
  std::vector<double> rates{};  ///< of each round, in `unit`; empty: nothing here has it
  double best_shape_rate = 0;   ///< of products: that of the best shape, of all rounds; else 0
  std::string best_shape{};     ///< "4096 x 4096 x 1024"
  std::string failure{};        ///< why a round has no rate; empty: none failed
};

struct Comparison {
  std::int64_t n = 0;
  std::vector<Contestant> contestants;
  std::vector<Ceiling> ceilings;

  /// Nothing failed.
  bool passed() const;
};

/// GFLOP/s of each turn by HPL's count of operations; none of a contestant that failed once.
std::vector<double> rates(const Contestant& contestant, std::int64_t n);

/// Rates over LAPACK's dgesv, best over best; 0 where there is no such number.
double ratio_to_dgesv(const Contestant& contestant, const Comparison& all);
/// Of its ceiling, best over best, scaled to the ranks of the contestant; 0 where it has none.
double share_of_ceiling(const Contestant& contestant, const Comparison& all);
/// Time of the refinement over all time, of the fastest turn; NaN where it is not known.
double refinement_share(const Contestant& contestant);
/// The fastest turn. @pre there is a turn
const Turn& fastest_turn(const Contestant& contestant);

/// The rate of a product in some shape, and how much of a run's work has that shape.
struct ShapeRate {
  double weight = 0;
  double rate = 0;
};
/// The rate of all work together: each part takes weight / rate.
double rate_over_run(std::span<const ShapeRate> shapes);

}  // namespace lupine
