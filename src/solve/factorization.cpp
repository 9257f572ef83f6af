// SPDX-License-Identifier: BSD-3-Clause
#include <lupine/solve.hpp>

#include <memory>

#include "comm/agreement.hpp"
#include "solve/small_solver.hpp"

namespace lupine {

class LUPINE_HIDDEN Factorization::Implementation {
 public:
  Implementation(MPI_Comm comm, const Matrix& a, const SolveOptions& options,
                 const ProgressFunction& progress)
      : solver(make_solver(comm, a, options, progress)) {}

  std::unique_ptr<Solver> solver;
};

Factorization::Factorization(MPI_Comm comm, const Matrix& a, const SolveOptions& options,
                             const ProgressFunction& progress) {
  on_this_rank(comm, [&] {
    implementation_ = std::make_unique<Implementation>(comm, a, options, progress);
    implementation_->solver->factor();
  });
}
Factorization::Factorization(Factorization&&) noexcept = default;
Factorization& Factorization::operator=(Factorization&&) noexcept = default;
Factorization::~Factorization() = default;

Solution Factorization::solve(const RightHandSide& b, Transpose transpose) {
  Solver& solver = *implementation_->solver;
  return on_this_rank(solver.comm(), [&] { return solver.solve(b.source(), transpose); });
}

ConditionEstimate Factorization::condition(Transpose transpose) {
  Solver& solver = *implementation_->solver;
  return on_this_rank(solver.comm(), [&] { return solver.condition(transpose); });
}

Precision Factorization::precision() const {
  return implementation_->solver->precision();
}

std::int64_t Factorization::n() const {
  return implementation_->solver->n();
}

Solution solve(MPI_Comm comm, const Matrix& a, const RightHandSide& b, const SolveOptions& options,
               const ProgressFunction& progress) {
  return on_this_rank(comm, [&] {
    const Factorization::Implementation implementation(comm, a, options, progress);
    Solver& solver = *implementation.solver;
    solver.check(b.source());
    solver.factor();
    return solver.solve(b.source(), Transpose::no);
  });
}

}  // namespace lupine
