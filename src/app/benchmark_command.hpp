// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// `speedwell mxp`, `speedwell hpl` and `speedwell bench`.
#pragma once

#include <string>
#include <vector>

#include "app/arguments.hpp"
#include "app/profile_place.hpp"
#include "comm/communicator.hpp"

namespace speedwell {

/// Runs the benchmarks, reports, and returns the exit status: 0 if all runs passed, else 1.
/// Collective.
/// @param notes further notes for the reader of the report
/// @throws UsageError, AgreedFault: the same one on every rank; any other Fault on one rank
int run_benchmarks(const Communicator& world, const Arguments& arguments, const ProfilePlace& place,
                   const std::string& command_line, const std::vector<std::string>& notes);

}  // namespace speedwell
