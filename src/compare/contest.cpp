// SPDX-License-Identifier: BSD-3-Clause
#include "compare/contest.hpp"

#include <fmt/format.h>
#include <speedwell/error.hpp>

#include <algorithm>
#include <exception>
#include <span>

#include "comm/agreement.hpp"

namespace speedwell {

bool Contest::passed() const {
  std::int64_t good = comparison_.passed() ? 1 : 0;
  world_.broadcast(std::span(&good, 1), 0);
  return good == 1;
}

void Contest::round(const TurnDone& done) {
  prepare();
  for (std::size_t i = 0; i < comparison_.solvers.size(); ++i) {
    ComparedSolver& entry = comparison_.solvers[i];
    if (!entry.skipped.empty()) continue;
    entry.turns.push_back(turn(i));
    entry.turns.back().sensors = sensors_.take(world_);
    on_rank_0(world_, [&] { done(entry); });
  }
  measure_ceilings();
}

// An error that all ranks know of, such as a lack of memory, ends one turn: the comparison goes on.
Turn Contest::turn(std::size_t entry) {
  if (turns_[entry]) {
    try {
      return turns_[entry]();
    } catch (const AgreedFault& fault) {
      return {.failure = fault.what()};
    } catch (const UsageError& error) {
      return {.failure = error.what()};
    }
  }
  sensors_.uses_gpu("", "");  // LAPACK works on the processor
  Turn turn;
  if (world_.rank() == 0) {
    try {
      turn = lapack_run(traits(comparison_.solvers[entry].solver).lapack.value(), dense_system(),
                        threads_, run_);
    } catch (const std::exception& problem) {
      turn.failure = problem.what();
    }
  }
  world_.barrier_asleep();
  return turn;
}

Turn Contest::solve_turn(const std::function<Solution()>& call, Solution& solution) {
  Turn turn;
  try {
    solution = call();
  } catch (const AccuracyError& error) {
    turn.failure = error.what();
    solution = error.best();
  } catch (const SingularError& error) {
    turn.failure = error.what();
  }
  turn.steps = solution.steps;
  turn.refine_seconds = 0;
  for (const SolveStep& step : turn.steps) turn.refine_seconds += step.refine_seconds;
  return turn;
}

void Contest::run_on(const Machine& machine) {
  threads_ = machine.threads();
  fewest_threads_ = machine.facts().run.threads;
}

void Contest::enter(ComparedSolver entry, std::function<Turn()> turn) {
  entry.field = comparison_.field();
  entry.ranks = world_.size();
  entry.threads = fewest_threads_;
  comparison_.solvers.push_back(std::move(entry));
  turns_.push_back(std::move(turn));
}

void Contest::enter_lapack(SolverKind solver) {
  comparison_.solvers.push_back(
      lapack_entry(world_, solver, comparison_.n, comparison_.rhs, threads_, comparison_.field()));
  turns_.emplace_back();
}

void Contest::require_solver() const {
  const auto& all = comparison_.solvers;
  if (std::ranges::none_of(all, &std::string::empty, &ComparedSolver::skipped))
    throw UsageError(fmt::format("-N {}: no solver can run; {}: {}", comparison_.n,
                                 solver_name(all.front()), all.front().skipped));
}

}  // namespace speedwell
