// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// `speedwell predict --calibrate`.
#pragma once

#include "app/arguments.hpp"
#include "comm/communicator.hpp"

namespace speedwell {

/// Measures the machine's GPUs and writes its file. If the file exists, what a calibration does not
/// measure stays as it is there. Returns the exit status. Collective.
/// @throws UsageError, AgreedFault: the same one on every rank
int run_calibration(const Communicator& world, const Arguments& arguments);

}  // namespace speedwell
