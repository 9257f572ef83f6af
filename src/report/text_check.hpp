// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Whether the text of a report says what its document records.
#pragma once

#include <string>

#include "bench/benchmark_runner.hpp"

namespace speedwell {

/// Compares a report of one configuration with the record, line by line: each must be the one that
/// the record makes. Free are the words of notes, and why a value was chosen, unless they are a
/// score or a verdict; local times may be those of any zone.
/// @param measured of recorded_runs()
/// @param program version and revision at its head: "Speedwell 0.1.0 (1234567)"
/// @param rest what must follow after the runs
/// @return what differs first, in words; empty: nothing
std::string differing_line(const std::string& text, const Measured& measured,
                           const std::string& program, const std::string& rest);

}  // namespace speedwell
