// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// What a submission says of the machine, as far as the machine tells it.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "comm/communicator.hpp"

namespace speedwell {

/// On rank 0, an object with "nodes" (one for each host: processor, cores, memory, operating
/// system, interconnect, ranks) and what rank 0 says of software ("compiler", "mpi", "blas", ...);
/// what is not known is null. Null on other ranks. Collective.
nlohmann::ordered_json system_facts(const Communicator& world);

}  // namespace speedwell
