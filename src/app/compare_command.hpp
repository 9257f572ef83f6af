// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// `speedwell compare`.
#pragma once

#include <string>
#include <vector>

#include "app/arguments.hpp"
#include "app/profile_place.hpp"
#include "comm/communicator.hpp"

namespace speedwell {

/// Compares, reports, and returns the exit status: 0 if no solver failed, else 1. Collective.
/// @param notes further notes for the reader of the report
/// @throws UsageError, AgreedFault: the same one on every rank; any other Fault on one rank
int run_compare(const Communicator& world, const Arguments& arguments, const ProfilePlace& place,
                const std::string& command_line, const std::vector<std::string>& notes);

}  // namespace speedwell
