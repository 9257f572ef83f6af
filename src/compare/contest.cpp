// SPDX-License-Identifier: BSD-3-Clause
#include "compare/contest.hpp"

#include <fmt/format.h>
#include <speedwell/error.hpp>

#include <algorithm>
#include <exception>
#include <span>

#include "comm/agreement.hpp"
#include "compare/lapack_run.hpp"

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
  const auto driver = lapack_driver(comparison_.solvers[entry].solver);
  if (!driver) {
    try {
      return speedwell_turn(entry);
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
      turn = lapack_turn(*driver);
    } catch (const std::exception& problem) {
      turn.failure = problem.what();
    }
  }
  world_.barrier_asleep();
  return turn;
}

Turn Contest::lapack_turn(LapackDriver) {
  throw Fault("this contest has no turns of LAPACK");
}

void Contest::enter_lapack(SolverKind solver) {
  comparison_.solvers.push_back(
      lapack_entry(world_, solver, comparison_.n, comparison_.rhs, threads_, comparison_.field()));
}

void Contest::require_solver() const {
  const auto& all = comparison_.solvers;
  if (std::none_of(all.begin(), all.end(), [](const auto& one) { return one.skipped.empty(); }))
    throw UsageError(fmt::format("-N {}: no solver can run; {}: {}", comparison_.n,
                                 name(all.front().solver), all.front().skipped));
}

}  // namespace speedwell
