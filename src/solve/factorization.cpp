// SPDX-License-Identifier: BSD-3-Clause
#include <lupine/solve.hpp>

#include <memory>
#include <string>
#include <utility>

#include "comm/agreement.hpp"
#include "comm/interruption.hpp"
#include "solve/small_solver.hpp"
#include "source/source.hpp"

namespace lupine {

namespace {

// The solution, unless doubts are errors and it has one.
Solution checked(Solution solution, bool strict) {
  if (!strict || solution.doubt.empty()) return solution;
  const std::string words = solution.doubt;
  throw AccuracyError(words, std::make_shared<const Solution>(std::move(solution)));
}

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
void require_equal(MPI_Comm comm, const Call& mine, const RunContext& around = RunContext::none()) {
  if (ranks_in(comm) > 1) require_equal(Communicator::duplicate(comm, around), mine);
}

}  // namespace

class LUPINE_HIDDEN Factorization::Implementation {
 public:
  Implementation(MPI_Comm comm, const InterruptFunction& interrupt,
                 const ProgressFunction& progress, bool strictly)
      : interruption(comm, interrupt, progress != nullptr), strict(strictly) {}

  Interruption interruption;
  bool strict;
  std::unique_ptr<Solver> solver;
};

Factorization::Factorization(MPI_Comm comm, const Matrix& a, const SolveOptions& options,
                             const ProgressFunction& progress, const InterruptFunction& interrupt) {
  on_this_rank(comm, [&] {
    require_equal(comm, {.name = "Factorization", .a = &a.source()});
    implementation_ = std::make_unique<Implementation>(comm, interrupt, progress, options.strict);
    Implementation& mine = *implementation_;
    const auto work = [&] {
      mine.solver = make_solver(comm, a, options, progress, Seen::errors, mine.interruption.get());
      mine.solver->factor();
    };
    mine.interruption.during(work, [&] { mine.solver.reset(); });
  });
}
Factorization::Factorization(Factorization&&) noexcept = default;
Factorization& Factorization::operator=(Factorization&&) noexcept = default;
Factorization::~Factorization() = default;

Solution Factorization::solve(const RightHandSide& b, Transpose transpose) {
  Solver& solver = *implementation_->solver;
  return on_this_rank(solver.all().handle(), [&] {
    require_equal(solver.all(), {"Factorization::solve()", nullptr, &b.source(), transpose});
    return implementation_->interruption.during(
        [&] { return checked(solver.solve(b.source(), transpose), implementation_->strict); },
        [] {});
  });
}

ConditionEstimate Factorization::condition(Transpose transpose) {
  Solver& solver = *implementation_->solver;
  return on_this_rank(solver.all().handle(), [&] {
    require_equal(solver.all(), {.name = "Factorization::condition()", .transpose = transpose});
    return implementation_->interruption.during([&] { return solver.condition(transpose); }, [] {});
  });
}

Precision Factorization::precision() const {
  return implementation_->solver->precision();
}

std::int64_t Factorization::n() const {
  return implementation_->solver->n();
}

Solution solve(MPI_Comm comm, const Matrix& a, const RightHandSide& b, const SolveOptions& options,
               const ProgressFunction& progress, const InterruptFunction& interrupt) {
  return solve(comm, a, b, options, progress, interrupt, Seen::errors);
}

Solution solve(MPI_Comm comm, const Matrix& a, const RightHandSide& b, const SolveOptions& options,
               const ProgressFunction& progress, const InterruptFunction& interrupt, Seen seen,
               const RunContext& around) {
  return on_this_rank(comm, [&] {
    require_equal(comm, {"solve()", &a.source(), &b.source()}, around);
    Interruption interruption(comm, interrupt, progress != nullptr, around);
    std::unique_ptr<Solver> solver;
    const auto work = [&] {
      solver = make_solver(comm, a, options, progress, seen, interruption.get());
      solver->check(b.source());
      solver->factor();
      return checked(solver->solve(b.source(), Transpose::no), options.strict);
    };
    return interruption.during(work, [&] { solver.reset(); });
  });
}

}  // namespace lupine
