// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The seeds of the random vectors with which a solve judges its matrix.
#pragma once

#include <cstdint>

#include "comm/communicator.hpp"

namespace speedwell {

/// Rank 0's seed, or its process_seed() where that is 0, on every rank. Collective.
/// @param mine SolveOptions::probe_seed @throws UsageError as process_seed() does
std::uint64_t agreed_seed(const Communicator& all, std::uint64_t mine);

/// The seed for one matrix: another one for another matrix, so that no matrix can be made for a
/// seed that has become known. Equal on every rank and grid. Collective.
/// @param bits MatrixChecksum::bits of the rank's part
std::uint64_t seed_for(const Communicator& all, std::uint64_t seed, std::uint64_t bits);

}  // namespace speedwell
