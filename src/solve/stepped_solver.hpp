// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The solver of systems of any size, on all ranks: factors of increasing precision, each refined.
#pragma once

#include <lupine/solve.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "setup/machine.hpp"
#include "setup/plan.hpp"
#include "solve/equilibration.hpp"
#include "solve/factors.hpp"
#include "solve/quality.hpp"
#include "solve/solver.hpp"
#include "solve/source.hpp"
#include "solve/user_matrix.hpp"

namespace lupine {

class SteppedSolver final : public Solver {
 public:
  /// Plans the first step. Collective. @throws UsageError, AgreedFault: the same one on every rank
  SteppedSolver(MPI_Comm comm, const Matrix& a, const SolveOptions& options,
                const ProgressFunction& progress);

  std::int64_t n() const override { return source_.source().n(); }
  MPI_Comm comm() const override { return all().handle(); }
  void check(const RightHandSideSource& b) override;
  void factor() override;
  Solution solve(const RightHandSideSource& b) override;

 private:
  Setup first_setup();
  void load();
  Setup setup_of(Precision precision);
  bool advance();
  bool restart();
  bool factor_in(Precision precision);
  Vector get(const RightHandSideSource& source, std::int64_t k);
  bool attempt(const RightHandSideSource& b, std::vector<std::int64_t>& left, Solution& solution);
  bool solve_one(const RightHandSideSource& b, std::int64_t k, Solution& solution);
  Answer answer(const RightHandSideSource& source, std::int64_t k);
  bool accepted(const Answer& found);
  std::string why_not(const Solution& solution, const std::vector<std::int64_t>& left);
  const Clock& clock() const { return machine_.clock(); }
  const Communicator& all() const { return machine_.all(); }
  const ProcessGrid& grid() const { return machine_.grid(); }
  bool last() const { return at_ + 1 == std::ssize(precisions_); }
  double tolerance() const;
  void finish(Solution& solution);
  [[noreturn]] void fail(Solution best);

  Machine machine_;
  Matrix source_;
  SolveOptions options_;
  ProgressFunction progress_;
  std::vector<Precision> precisions_;  // precision of each step
  Setup first_;                        // setup of the first step
  std::optional<UserMatrix> a_;
  Equilibration scales_;
  double load_seconds_ = 0;
  double scale_seconds_ = 0;
  std::ptrdiff_t at_ = -1;  // the present step, as an index of precisions_
  std::unique_ptr<Factors> factors_;
  std::vector<SolveStep> steps_;  // the steps since the last solve()
  double check_seconds_ = 0;
};

}  // namespace lupine
