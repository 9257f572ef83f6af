// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Counts what leaves the range of a precision when a matrix, or its factors, are rounded to it.
/// Everything is read by the host, outside of any timed part. Sums of all ranks; collective.
#pragma once

#include "compare/comparison.hpp"
#include "grid/lu_plan.hpp"
#include "matrix/distributed_matrix.hpp"
#include "solve/scaled_matrix.hpp"

namespace speedwell {

/// Of R A C, rounded to `to`.
RangeCounts range_counts(const Communicator& all, Device& device, const ScaledMatrix& a,
                         Precision to);

/// Of L and U, rounded to what updates read: without the diagonal blocks, which updates do not
/// read, where FP32 factors are rounded to 16 bits. What is stored in 16 bits and zero counts as
/// below the smallest normal number.
RangeCounts range_counts(const Communicator& all, Device& device, const DistributedMatrix& lu,
                         const LuPlan& plan);

}  // namespace speedwell
