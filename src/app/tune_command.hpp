// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// `speedwell tune`.
#pragma once

#include <string>
#include <vector>

#include "app/arguments.hpp"
#include "app/profile_place.hpp"
#include "comm/communicator.hpp"

namespace speedwell {

/// Tunes, reports, writes the profile, and returns the exit status 0. Collective.
/// @param users place of the user's profile
/// @param notes further notes for the reader of the report
/// @throws UsageError, AgreedFault: the same one on every rank; any other Fault on one rank
int run_tune(const Communicator& world, const Arguments& arguments, const ProfilePlace& users,
             const std::string& command_line, const std::vector<std::string>& notes);

}  // namespace speedwell
