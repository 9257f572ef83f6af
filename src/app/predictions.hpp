// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// `speedwell predict`, as far as it is in this program: a build without it has stubs.
#pragma once

#include <string_view>

#include "app/arguments.hpp"
#include "comm/communicator.hpp"

namespace speedwell {

/// Why this build has no `speedwell predict`, and what is allowed, in a line; empty: it has it.
std::string_view why_no_predictions();

/// `speedwell predict --calibrate`. Measures the machine's GPUs and writes its file. If the file
/// exists, what a calibration does not measure stays as it is there. Returns the exit status.
/// Collective.
/// @throws UsageError, AgreedFault: the same one on every rank
int run_calibration(const Communicator& world, const Arguments& arguments);

}  // namespace speedwell
