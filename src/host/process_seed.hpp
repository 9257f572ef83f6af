// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The seed of a process's random vectors.
#pragma once

#include <cstdint>

namespace speedwell {

/// The seed of the random vectors with which this process judges matrices and solutions, where no
/// option gives one: the same in every call, another in each process, from 1 to 2^53 - 1, so that
/// every reader of JSON has it exactly. The environment's SPEEDWELL_PROBE_SEED gives it where no
/// option can, as in speedwell_dgesv(). @throws UsageError where that is no whole number above 0
std::uint64_t process_seed();

}  // namespace speedwell
