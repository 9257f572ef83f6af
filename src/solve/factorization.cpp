// SPDX-License-Identifier: BSD-3-Clause
#include <speedwell/solve.hpp>

#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "comm/agreement.hpp"
#include "comm/interruption.hpp"
#include "host/floating_point.hpp"
#include "solve/small_solver.hpp"
#include "source/source.hpp"

namespace speedwell {

namespace {

/// What a rank asks for. Ranks that ask for different things would wait for each other's messages.
struct Call {
  const char* name;
  const MatrixSource* a = nullptr;
  const RightHandSideSource* b = nullptr;
  Transpose transpose = Transpose::no;
};

/// Collective. A rank alone does nothing, not even make words. @throws UsageError on every rank
void require_equal(const Communicator& all, const Call& mine) {
  if (all.size() == 1) return;
  require_equal_calls(all,
                      {{"the call", mine.name},
                       {"A", mine.a ? mine.a->description() : ""},
                       {"b", mine.b ? mine.b->description() : ""},
                       {"the system", mine.transpose == Transpose::no ? "A x = b" : "A^T x = b"}});
}
void require_equal(CommHandle comm, const Call& mine,
                   const RunContext& around = RunContext::none()) {
  if (ranks_in(comm) > 1) require_equal(Communicator::duplicate(comm, around), mine);
}

/// What a call has of its caller.
struct Caller {
  const ProgressFunction& progress;
  const InterruptFunction& interrupt;
  const RunContext& around = RunContext::none();
};

}  // namespace

/// A solver in the public calls that use it: each is compared with those of the other ranks, may be
/// ended early on all of them, and names this rank in its faults.
struct SolverCalls {
  bool strict = false;
  std::optional<Interruption> interruption{};
  std::unique_ptr<Solver> solver{};
  RunMeter* meter = nullptr;

  /// The first call. `work` makes the solver, of which nothing is left where it is ended early.
  template <class Work>
  std::invoke_result_t<Work> first(CommHandle comm, const Call& mine, const Caller& caller,
                                   const Work& work) {
    const FloatingPointScope floating_point;
    return on_this_rank(comm, [&] {
      require_equal(comm, mine, caller.around);
      meter = caller.around.hooks().meter;
      interruption.emplace(comm, caller.interrupt, caller.progress != nullptr, caller.around);
      return interruption->during(work, [this] { solver.reset(); });
    });
  }
  template <class Work>
  std::invoke_result_t<Work> next(const Call& mine, const Work& work) {
    const FloatingPointScope floating_point;
    return on_this_rank(solver->all().handle(), [&] {
      require_equal(solver->all(), mine);
      return interruption->during(work, [] {});
    });
  }
  /// Loads and factors A. @param b is checked before; null: none
  void factor(CommHandle comm, const Matrix& a, const SolveOptions& options,
              const ProgressFunction& progress, const RightHandSideSource* b = nullptr) {
    solver = make_solver(comm, a, options, progress, {interruption->get(), meter});
    if (b) solver->check(*b);
    solver->factor();
  }
  /// The solution, unless doubts are errors and it has one.
  Solution checked(Solution solution) const {
    if (!strict || solution.doubt.empty()) return solution;
    const std::string words = solution.doubt;
    throw AccuracyError(words, std::make_shared<const Solution>(std::move(solution)));
  }
  /// The same of a determinant.
  Determinant checked(Determinant determinant) const {
    if (!strict || determinant.doubt.empty()) return determinant;
    throw AccuracyError(determinant.doubt, std::make_shared<const Solution>());
  }
};

class SPEEDWELL_HIDDEN Factorization::Implementation : public SolverCalls {};

Factorization::Factorization(MPI_Comm comm, const Matrix& a, const SolveOptions& options,
                             const ProgressFunction& progress, const InterruptFunction& interrupt)
    : implementation_(std::make_unique<Implementation>()) {
  SolverCalls& calls = *implementation_;
  calls.strict = options.strict;
  calls.first(comm, {.name = "Factorization", .a = &a.source()}, {progress, interrupt},
              [&] { calls.factor(comm, a, options, progress); });
}
Factorization::Factorization(Factorization&&) noexcept = default;
Factorization& Factorization::operator=(Factorization&&) noexcept = default;
Factorization::~Factorization() = default;

Solution Factorization::solve(const RightHandSide& b, Transpose transpose) {
  SolverCalls& calls = *implementation_;
  return calls.next({"Factorization::solve()", nullptr, &b.source(), transpose},
                    [&] { return calls.checked(calls.solver->solve(b.source(), transpose)); });
}

ConditionEstimate Factorization::condition(Transpose transpose) {
  SolverCalls& calls = *implementation_;
  return calls.next({.name = "Factorization::condition()", .transpose = transpose},
                    [&] { return calls.solver->condition(transpose); });
}

Determinant Factorization::determinant() {
  SolverCalls& calls = *implementation_;
  return calls.next({.name = "Factorization::determinant()"},
                    [&] { return calls.checked(calls.solver->determinant()); });
}

Precision Factorization::precision() const {
  return implementation_->solver->precision();
}

std::int64_t Factorization::n() const {
  return implementation_->solver->n();
}

Solution solve(MPI_Comm comm, const Matrix& a, const RightHandSide& b, const SolveOptions& options,
               const ProgressFunction& progress, const InterruptFunction& interrupt) {
  return solve(comm, a, b, options, progress, interrupt, RunContext::none());
}

Solution solve(CommHandle comm, const Matrix& a, const RightHandSide& b,
               const SolveOptions& options, const ProgressFunction& progress,
               const InterruptFunction& interrupt, const RunContext& around) {
  SolverCalls calls{.strict = options.strict};
  return calls.first(comm, {"solve()", &a.source(), &b.source()}, {progress, interrupt, around},
                     [&] {
                       calls.factor(comm, a, options, progress, &b.source());
                       return calls.checked(calls.solver->solve(b.source(), Transpose::no));
                     });
}

}  // namespace speedwell
