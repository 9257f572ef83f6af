// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Reports a factorization's steps to its caller.
#pragma once

#include <lupine/progress.hpp>

#include "comm/communicator.hpp"
#include "core/interrupt.hpp"
#include "factor/lu.hpp"

namespace lupine {

/// What factorize() is to call after each step of a factorization that begins now: `progress` on
/// rank 0, and `interrupt` where it is not null. Nothing where there is nothing to call.
/// @param progress must live as long as the result
inline ColumnsDone reporter(const Communicator& all, std::int64_t n, const Clock& clock,
                            const ProgressFunction& progress, Interrupt* interrupt) {
  const ProgressFunction* reported = progress && all.rank() == 0 ? &progress : nullptr;
  if (!reported && !interrupt) return {};
  if (interrupt) interrupt->reach(0, n);
  return [=, &clock, begin = clock.now()](std::int64_t columns) {
    if (ended(interrupt)) return;
    if (interrupt) interrupt->reach(columns, n);
    if (reported) call_guarded(interrupt, [&] { (*reported)({columns, n, clock.now() - begin}); });
  };
}

}  // namespace lupine
