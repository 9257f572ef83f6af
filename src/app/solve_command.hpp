// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// `lupine solve`.
#pragma once

#include <string>
#include <vector>

#include "app/arguments.hpp"
#include "comm/communicator.hpp"

namespace lupine {

/// Solves, writes x, reports, and returns the exit status: 0 if it is solved, else 1. Collective.
/// @param notes what else the reader of the report should know
/// @throws UsageError, AgreedFault: on every rank alike; other faults on one rank
int run_solve(const Communicator& world, const Arguments& arguments,
              const std::string& command_line, const std::vector<std::string>& notes);

}  // namespace lupine
