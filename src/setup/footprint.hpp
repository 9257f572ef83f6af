// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The memory of a run, computed before it starts: the sum of what each part says that it takes.
/// All functions are pure, and tell of the rank that allocates the most.
#pragma once

#include <cstdint>

#include "core/tuning.hpp"
#include "grid/lu_plan.hpp"

namespace speedwell {

/// Bytes of device memory: factors and a copy of A, panels, scratch, vectors.
double rank_bytes(const LuPlan& plan);
/// Bytes of host memory of a rank whose device has memory of its own.
double host_bytes(const LuPlan& plan);
/// The part of rank_bytes() that depends on plan.width: panels, rows that ranks exchange, and the
/// scratch of updates and solves.
double panel_bytes(const LuPlan& plan);

/// Columns of a step, at least 1: nb, or fewer where memory is short. Memory is short where
/// panel_bytes() for nb would exceed the share of panels in 4.4 n^2 bytes (FP64: 8.8 n^2) over all
/// ranks and 150 MB a rank, by which an order is chosen, and rank_bytes() would also exceed `free`.
/// @param plan whose width does not count
/// @param free bytes that a rank may use; the memory of panels may grow into them
std::int64_t panel_width(LuPlan plan, double free = 0);

/// The plan with this tuning, and with panels of panel_width() columns.
LuPlan tuned(LuPlan plan, const Tuning& tuning, double free = 0);

}  // namespace speedwell
