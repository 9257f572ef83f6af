// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The samples of one rank, as they travel to rank 0 and stand in JSON.
#pragma once

#include <string>

#include "core/clock.hpp"
#include "sensors/monitor.hpp"

namespace speedwell {

/// A JSON object. Times are seconds since 1970; what was not read is null.
/// @param clock that of the samples @param rank,host of this rank
std::string monitor_text(const MonitorRecord& record, const Clock& clock, int rank,
                         const std::string& host);

}  // namespace speedwell
