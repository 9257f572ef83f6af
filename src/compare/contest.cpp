// SPDX-License-Identifier: BSD-3-Clause
#include "compare/contest.hpp"

#include <fmt/format.h>
#include <lupine/error.hpp>

#include <algorithm>
#include <exception>
#include <span>

#include "comm/agreement.hpp"
#include "compare/lapack_run.hpp"

namespace lupine {

bool Contest::passed() const {
  std::int64_t good = comparison_.passed() ? 1 : 0;
  world_.broadcast(std::span(&good, 1), 0);
  return good == 1;
}

void Contest::round(const TurnDone& done) {
  prepare();
  for (std::size_t i = 0; i < comparison_.contestants.size(); ++i) {
    Contestant& contestant = comparison_.contestants[i];
    if (!contestant.skipped.empty()) continue;
    contestant.turns.push_back(turn(i));
    contestant.turns.back().sensors = sensors_.take(world_);
    on_rank_0(world_, [&] { done(contestant); });
  }
  measure_ceilings();
}

// An error that all ranks know of, such as a lack of memory, ends one turn: the comparison goes on.
Turn Contest::turn(std::size_t contestant) {
  const auto driver = lapack_driver(comparison_.contestants[contestant].solver);
  if (!driver) {
    try {
      return lupine_turn(contestant);
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
  comparison_.contestants.push_back(lapack_contestant(
      world_, solver, comparison_.n, comparison_.rhs, threads_, comparison_.field()));
}

void Contest::require_contestant() const {
  const auto& all = comparison_.contestants;
  if (std::none_of(all.begin(), all.end(), [](const auto& one) { return one.skipped.empty(); }))
    throw UsageError(fmt::format("-N {}: no solver can run; {}: {}", comparison_.n,
                                 name(all.front().solver), all.front().skipped));
}

}  // namespace lupine
