// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Reports a factorization's steps to its caller.
#pragma once

#include <speedwell/progress.hpp>

#include "comm/communicator.hpp"
#include "factor/lu.hpp"

namespace speedwell {

/// What factorize() is to call after each step of a factorization that begins now: `progress` on
/// rank 0, and the run's Interrupt. Nothing where there is nothing to call.
/// @param progress must live as long as the result
inline ColumnsDone reporter(const Communicator& all, std::int64_t n,
                            const ProgressFunction& progress) {
  const RunContext& run = all.run();
  const ProgressFunction* reported = progress && all.rank() == 0 ? &progress : nullptr;
  if (!reported && !run.interrupt()) return {};
  run.reach(0, n);
  return [=, &run, begin = run.now()](std::int64_t columns) {
    if (run.ended()) return;
    run.reach(columns, n);
    if (reported) run.call([&] { (*reported)({columns, n, run.now() - begin}); });
  };
}

}  // namespace speedwell
