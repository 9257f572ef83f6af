// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The solver of systems of any size, on all ranks: factors of increasing precision, each refined.
#pragma once

#include <speedwell/matrix.hpp>
#include <speedwell/progress.hpp>
#include <speedwell/solution.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/numbers.hpp"
#include "refine/refinement.hpp"
#include "setup/machine.hpp"
#include "setup/plan.hpp"
#include "solve/answers.hpp"
#include "solve/attempt.hpp"
#include "solve/checksum.hpp"
#include "solve/factors.hpp"
#include "solve/memory_checks.hpp"
#include "solve/proofs.hpp"
#include "solve/scaled_matrix.hpp"
#include "solve/solver.hpp"
#include "solve/user_matrix.hpp"
#include "source/source.hpp"

namespace speedwell {

class SteppedSolver final : public Solver {
 public:
  /// Plans the first step. Collective.
  /// @param hooks the interrupt is null on all ranks or on none
  /// @throws UsageError, AgreedFault: the same one on every rank
  SteppedSolver(CommHandle comm, const Matrix& a, const SolveOptions& options,
                const ProgressFunction& progress, const RunHooks& hooks = {});

  std::int64_t n() const override { return source_.source().n(); }
  const Communicator& all() const override { return machine_.all(); }
  void check(const RightHandSideSource& b) override;
  void factor() override;
  Solution solve(const RightHandSideSource& given, Transpose transpose) override;
  Precision precision() const override;
  ConditionEstimate condition(Transpose transpose) override;
  Determinant determinant() override;

 private:
  static constexpr int wide_scales = 100;  // a difference of exponents: see may_rescale()

  Field field() const { return source_.source().field(); }
  /// Numbers of a vector: those of the real system.
  std::int64_t numbers() const { return source_.source().numbers(); }
  std::vector<Attempt> plan_attempts();
  LuRequest request(Precision precision) const;
  LuPlan draft() const;
  LuSetup first_setup();
  void load();
  bool read_again(std::optional<MatrixChecksum> seen = {});
  bool begin_again(const std::string& why, bool load_a = false);
  void require_stored(const RightHandSideSource& b, const Solution& solution);
  void judge_by_sample();
  LuSetup setup_of(Precision precision);
  void announce(const LuSetup& setup);
  void describe_setup(Solution& solution) const;
  bool advance();
  bool restart();
  bool factor_in(const Attempt& planned);
  bool may_rotate() const;
  void plan_rotated();
  bool may_rescale(int spread = wide_scales) const;
  void plan_rescaled();
  void scale(const Attempt& planned);
  int rotations() const;
  std::string get(const RightHandSideSource& source, std::int64_t k, std::span<double> b);
  std::int64_t block_count() const;
  bool attempt(const RightHandSideSource& b, std::vector<std::int64_t>& left, Solution& solution);
  AnswerOptions answer_options(const std::vector<std::int64_t>& given, std::size_t left,
                               const Solution& solution);
  void solve_block(const RightHandSideSource& source, std::span<const std::int64_t> numbers,
                   std::size_t left, std::vector<std::int64_t>& unsolved, Solution& solution);
  double worth(std::int64_t right_hand_sides, std::size_t left) const;
  std::ptrdiff_t next() const;
  double forward_worth() const;
  std::string accuracy_reason() const;
  std::string why_not(const Solution& solution, const std::vector<std::int64_t>& unsolved);
  const RunContext& run() const { return machine_.run(); }
  const ProcessGrid& grid() const { return machine_.grid(); }
  const Attempt& planned(std::ptrdiff_t i) const { return plan_[static_cast<std::size_t>(i)]; }
  bool last() const { return at_ + 1 == std::ssize(plan_); }
  double tolerance() const { return componentwise_tolerance(options_.tolerance, numbers()); }
  void accept_as_singular(std::vector<std::int64_t>& unsolved, Solution& solution);
  FactoredSystem& factored() { return factors_->factored(op_); }
  void finish(Solution& solution);
  [[noreturn]] void fail(Solution best);

  Machine machine_;
  Matrix source_;
  SolveOptions options_;
  ProgressFunction progress_;
  Accuracy accuracy_;            // what is refined: backward, forward or certified
  double lu_seconds_ = 0;        // of the present factors
  double forward_seconds_ = 0;   // AnswerTimes::forward of the present solve
  Rates rates_;                  // by which the steps are planned; empty with a given precision
  std::vector<Attempt> plan_;    // the steps that may be tried; plan_attempts() sets rates_ too
  std::uint64_t seed_;           // of random vectors: agreed_seed()
  std::uint64_t seed_of_a_ = 0;  // seed_for() A, when it has been read
  std::string reason_;           // why they begin with this precision
  LuSetup first_;                // setup of the first step planned
  SolveMemory memory_;           // of all steps up to now
  std::optional<UserMatrix> a_;
  std::optional<Checksum> checksum_;    // of a_, as it was read
  std::optional<MatrixChecksum> seen_;  // A's checksum in the last residual, where a pass took it
  VectorChecksums b_read_;              // of the right-hand sides of the present solve
  bool checked_ = false;  // whether b_read_ has what check() has read for the next solve
  std::optional<StoredSolutions> stored_;  // of the present solve
  std::string changed_;                    // what has changed in memory in it; empty: nothing
  std::optional<ScaledMatrix> scaled_;
  double load_seconds_ = 0;
  double scale_seconds_ = 0;
  double sampled_ = unknown;  // condition number by a sample of A
  std::ptrdiff_t at_ = -1;    // the present step, as an index of plan_
  std::unique_ptr<Factors> factors_;
  Transpose op_ = Transpose::no;  // the matrix of the present solve: that of a_, or its transpose
  std::vector<SolveStep> steps_;  // the steps since the last solve()
  int reads_ = 0;                 // of all again, since something had changed in memory
  double forecast_ = 0;           // the most of RefineOutcome::forecast since the last step began
  std::int64_t expected_ = 1;     // right-hand sides, as far as check() has seen them
  std::vector<double> x_;  // memory for Solution::x, of which check() has found that it is there
  /// The rank's rows of right-hand sides that are not at hand and that a later step may need.
  std::map<std::int64_t, Vector> kept_;
  double check_seconds_ = 0;
  double proof_seconds_ = 0;  // of these
};

}  // namespace speedwell
