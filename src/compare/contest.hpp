// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// `speedwell compare`: solvers solve the same system in turns.
#pragma once

#include <speedwell/options.hpp>
#include <speedwell/solution.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "comm/communicator.hpp"
#include "compare/comparison.hpp"
#include "compare/lapack_run.hpp"
#include "core/clock.hpp"
#include "core/run_context.hpp"
#include "setup/machine.hpp"
#include "setup/plan.hpp"
#include "setup/run_sensors.hpp"

namespace speedwell {

/// The comparison for one n: a list of solvers, each with what makes its turns. Speedwell's solvers
/// run on all ranks; LAPACK runs on rank 0 with that rank's threads, while the other ranks wait
/// without using their cores. Constructors plan every solver's turns; a solver that is not
/// available, or does not fit, is skipped with the reason. Members are collective, and throw a
/// UsageError or AgreedFault on every rank.
class Contest {
 public:
  Contest(const Contest&) = delete;
  Contest& operator=(const Contest&) = delete;
  virtual ~Contest() = default;

  /// The setup of the first of Speedwell's solvers that fits; where none does: the machine, and the
  /// options as they were given.
  const Setup& setup() const { return setup_; }
  /// The measurements so far. They are complete on rank 0 alone.
  const Comparison& comparison() const { return comparison_; }
  /// Whether every solver that takes part has solved the system in all its turns. Equal on
  /// every rank.
  bool passed() const;

  using TurnDone = std::function<void(const ComparedSolver&)>;
  /// Runs every solver once, then measures each ceiling once.
  /// @param done called on rank 0 after each turn
  void round(const TurnDone& done);

 protected:
  Contest(const Communicator& world, const std::optional<MonitorOptions>& monitor)
      : world_(world),
        sensors_(world, monitor),
        run_(clock_, world.run().stalls(), {.meter = &sensors_}) {}
  /// What is entered afterwards runs with this machine's threads.
  void run_on(const Machine& machine);
  /// One of Speedwell's solvers. @param turn called on every rank
  void enter(ComparedSolver entry, std::function<Turn()> turn);
  /// One of LAPACK's, which solves dense_system().
  void enter_lapack(SolverKind solver);
  /// @throws UsageError where no solver can run
  void require_solver() const;
  /// The turn of a call of speedwell::solve() whose solution, if it has one, becomes `solution`.
  static Turn solve_turn(const std::function<Solution()>& call, Solution& solution);

  const Communicator& world_;
  SteadyClock clock_;
  RunSensors sensors_;
  RunContext run_;          ///< of all turns
  int threads_ = 1;         ///< of this rank
  int fewest_threads_ = 1;  ///< of any rank
  Setup setup_;
  Comparison comparison_;

 private:
  virtual void prepare() {}                                ///< before the turns of a round
  virtual DenseSystem dense_system() const { return {}; }  ///< on rank 0
  virtual void measure_ceilings() {}
  Turn turn(std::size_t entry);

  std::vector<std::function<Turn()>> turns_;  // one for each solver; LAPACK's are empty
};

/// HPL-MxP, speedwell::solve, HPL and LAPACK with a benchmark's matrix: all solve HPL-MxP's system.
/// All ranks measure a ceiling at the same time.
/// @param mxp,hpl options of the two benchmarks, with n given; all solvers take the matrix of `mxp`
/// @param profile its entries take precedence over the table of defaults
/// @throws UsageError where plan() refuses HPL-MxP in its first precision, or no solver can run
std::unique_ptr<Contest> benchmark_contest(const Communicator& world, const CompareOptions& who,
                                           const BenchmarkOptions& mxp, const BenchmarkOptions& hpl,
                                           const Profile& profile);

/// speedwell::solve and LAPACK with a matrix of the gallery. A and all right-hand sides lie in rank
/// 0's memory in FP64.
///
/// A turn of `solve` is the whole call of speedwell::solve() with Matrix::dense and default
/// options: on several ranks, sending the other ranks their parts of A is a part of it. A turn of
/// LAPACK, on rank 0 alone, is the call of the driver; the copies of A and b that it overwrites are
/// made before. Every column of x is verified with A and b computed again; or, in a comparison of
/// accuracies, where the system is a KnownSystem, compared with the known x.
/// @param who whose `gallery` has a value, and whose solvers are `solve` and LAPACK's; its
///        precisions are not used. With `accuracy` there is one right-hand side.
/// @param options of which n, seed, threshold, refine, max_iterations and run are used
/// @throws UsageError where no solver can run
std::unique_ptr<Contest> gallery_contest(const Communicator& world, const CompareOptions& who,
                                         const BenchmarkOptions& options);

/// Levels of precision. FP64 and O0 take part once, the other levels once with each 16-bit
/// precision. They solve a system of the gallery whose x is known; see KnownSystem.
///
/// A turn is scaling, factorization with partial pivoting, and refinement, or one solve where the
/// level has none: A lies in FP64 in the devices' memory before. A level that finds no factors, or
/// a poor x, has taken its turn.
/// @param who whose `gallery` has a value, and of whose precisions those of 16 bits are used
/// @param options of which n, seed, refine, max_iterations, leaf, ndiv and run are used
/// @throws UsageError where no level can run
std::unique_ptr<Contest> level_contest(const Communicator& world, const CompareOptions& who,
                                       const BenchmarkOptions& options, const Profile& profile);

}  // namespace speedwell
