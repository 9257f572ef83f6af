// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// How the command line wants a run to be watched.
#pragma once

#include <optional>

#include "app/arguments.hpp"
#include "sensors/monitor.hpp"

namespace speedwell {

/// Nothing if nothing was asked for; a limit alone asks for samples too. Warnings are lines on
/// standard error that name this rank. Equal on every rank, but for the warnings.
std::optional<MonitorOptions> monitor_of(const MonitorArguments& asked, int rank);

}  // namespace speedwell
