// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Counts what leaves the range of a precision when a matrix, or its factors, are stored in it.
/// Everything is read by the host, outside of any timed part. Sums of all ranks; collective.
#pragma once

#include "compare/comparison.hpp"
#include "matrix/distributed_matrix.hpp"
#include "solve/scaled_matrix.hpp"

namespace speedwell {

/// Of R A C, rounded to `to`.
RangeCounts range_counts(const Communicator& all, Device& device, const ScaledMatrix& a,
                         Precision to);

/// Of L and U, as they are stored: a zero in 16 bits counts as below the smallest normal number.
RangeCounts range_counts(const Communicator& all, Device& device, const DistributedMatrix& lu);

}  // namespace speedwell
