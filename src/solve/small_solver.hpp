// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The solver of small systems on one process: FP64 LU, at about the cost of LAPACK's dgesv.
#pragma once

#include <speedwell/matrix.hpp>
#include <speedwell/progress.hpp>
#include <speedwell/solution.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "comm/interruption.hpp"
#include "comm/process_grid.hpp"
#include "core/run_context.hpp"
#include "device/cpu/pivoted_lu.hpp"
#include "device/device.hpp"
#include "host/lapack_lu.hpp"
#include "refine/vectors.hpp"
#include "solve/checksum.hpp"
#include "solve/factored_system.hpp"
#include "solve/memory_checks.hpp"
#include "solve/scaled_matrix.hpp"
#include "solve/solver.hpp"
#include "solve/user_matrix.hpp"

namespace speedwell {

/// The largest order of a small system. Up to it one FP64 LU takes less time than the steps of a
/// SteppedSolver. It is a constant, and not measured in each process, so that the same call gives
/// the same x whatever else the machine does. `speedwell_small_bench` measures both sides.
/// @param shared whether LU is by a LAPACK that the program shares (shared_lapack())
std::int64_t small_limit(bool shared = false);

/// What computes a small system.
struct SmallResources {
  const LapackRoutines* lapack;  ///< the program's, for products of the LU; null: none
  int threads;                   ///< of everything else
  WholePanels panels;            ///< as factor_pivoted() takes them

  /// As factor_pivoted().
  template <class T>
  std::int64_t factor(MatrixView<T> a, std::span<int> pivots,
                      Interrupt* interrupt = nullptr) const {
    const SharedProducts products(lapack);
    return factor_pivoted(a, pivots, interrupt, panels);
  }
};
/// @param precision of L and U: FP32 or FP64
/// @param threads those of the call
SmallResources small_resources(Field field, Precision precision, std::int64_t n, int threads);

/// Whether SmallSolver solves this system: a process alone, n up to small_limit(), and no option
/// that only a SteppedSolver knows, such as a block size, a grid, a GPU or a precision below FP64.
/// `device` automatic stands for the CPU here, even where there are GPUs.
bool is_small(CommHandle comm, std::int64_t n, const SolveOptions& options);

/// Solves on the CPU, without a Machine or a plan. The checks of A and b, the scales, the errors
/// and their limits are those of the FP64 step of a SteppedSolver, and so are the fields of the
/// Solution. Where anything is not as usual (a pivot that is zero or not finite, entries that have
/// grown, an x that is not accepted, b with an Inf or NaN), a SteppedSolver takes over, beginning
/// with FP64, and decides and says what comes of it; it gets A as it was loaded.
class SmallSolver final : public Solver {
 public:
  /// For a system that is_small(). @throws UsageError
  SmallSolver(const Matrix& a, const SolveOptions& options, const ProgressFunction& progress,
              const RunHooks& hooks = {});
  ~SmallSolver() override;

  std::int64_t n() const override { return source_.source().n(); }
  const Communicator& all() const override { return grid_.all(); }
  void check(const RightHandSideSource& b) override;
  void factor() override;
  Solution solve(const RightHandSideSource& sides, Transpose transpose) override;
  Precision precision() const override;
  ConditionEstimate condition(Transpose transpose) override;
  Determinant determinant() override;

 private:
  Field field() const { return source_.source().field(); }
  /// Numbers of a vector: those of the real system.
  std::int64_t numbers() const { return source_.source().numbers(); }
  /// Solves with L, U and the row exchanges of R A C, as LAPACK has them.
  class Lu;
  bool load_and_factor();
  std::unique_ptr<Solver> stepped();
  Solver& take_over();
  std::vector<MultiVector> get(const RightHandSideSource& source, Transpose op);
  bool solve_all(const RightHandSideSource& b, const std::vector<MultiVector>& given, Transpose op,
                 Solution& solution);
  bool solve_block(const RightHandSideSource& b, const MultiVector& given, bool many, Transpose op,
                   StoredSolutions& stored, Solution& solution);
  void finish(Transpose op, Solution& solution);
  /// @throws Interrupted
  void stop_if_ended() const { stop_if_interrupted(all()); }

  SteadyClock clock_;
  RunContext run_;
  std::shared_ptr<const ProcessGrid> alone_;
  ProcessGrid grid_;  // of this process alone, in this run
  Matrix source_;
  SolveOptions options_;
  ProgressFunction progress_;
  int threads_;  // of the caller's functions
  SmallResources resources_;
  std::uint64_t seed_;  // of random vectors
  std::unique_ptr<Device> device_;
  Accuracy accuracy_;  // backward, forward or certified
  std::optional<UserMatrix> a_;
  std::optional<ScaledMatrix> scaled_;
  std::optional<Checksum> checksum_;    // of A as it was loaded
  std::optional<MatrixChecksum> seen_;  // A's in the last residual, where a pass took it
  VectorChecksums b_read_;              // of the right-hand sides of the present solve
  std::unique_ptr<FactoredSystem> factored_;
  std::unique_ptr<Certificate> certificate_;
  double load_seconds_ = 0;
  double scale_seconds_ = 0;
  double check_seconds_ = 0;
  double proof_seconds_ = 0;  // of these
  SolveStep step_;
  std::unique_ptr<Solver> general_;  // the solver that has taken over; null: none has
};

/// The solver for a system: a SmallSolver if is_small(), else a SteppedSolver. Collective.
/// @throws UsageError, AgreedFault: the same one on every rank
std::unique_ptr<Solver> make_solver(CommHandle comm, const Matrix& a, const SolveOptions& options,
                                    const ProgressFunction& progress, const RunHooks& hooks = {});

}  // namespace speedwell
