// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// `speedwell compare`: solvers solve the same system in turns.
#pragma once

#include <speedwell/options.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "comm/communicator.hpp"
#include "compare/comparison.hpp"
#include "core/clock.hpp"
#include "core/run_context.hpp"
#include "host/lapack.hpp"
#include "setup/plan.hpp"
#include "setup/run_sensors.hpp"

namespace speedwell {

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

/// The comparison for one n. Speedwell's solvers run on all ranks; LAPACK runs on rank 0 with that
/// rank's threads, while the other ranks wait without using their cores. Constructors plan every
/// solver's turns; a solver that is not available, or does not fit, is skipped with the
/// reason. Members are collective, and throw a UsageError or AgreedFault on every rank.
class Contest {
 public:
  Contest(const Contest&) = delete;
  Contest& operator=(const Contest&) = delete;
  virtual ~Contest() = default;

  /// The setup of the first of Speedwell's solvers.
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
  void enter_lapack(SolverKind solver);
  /// @throws UsageError where no solver can run
  void require_solver() const;

  const Communicator& world_;
  SteadyClock clock_;
  RunSensors sensors_;
  RunContext run_;   ///< of all turns
  int threads_ = 1;  ///< of this rank
  Setup setup_;
  Comparison comparison_;

 private:
  virtual void prepare() {}  ///< before the turns of a round
  virtual Turn speedwell_turn(std::size_t entry) = 0;
  /// On rank 0. A contest that enters one of LAPACK's drivers has such turns.
  virtual Turn lapack_turn(LapackDriver driver);
  virtual void measure_ceilings() {}
  Turn turn(std::size_t entry);
};

}  // namespace speedwell
