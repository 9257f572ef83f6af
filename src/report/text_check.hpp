// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Whether the text of a report says what its document records.
#pragma once

#include <string>

#include "bench/benchmark_runner.hpp"

namespace speedwell {

/// Compares a report of one configuration with the record: order, block size, grid, precision and
/// matrix of its head, and every line about the runs, which must be those that the record makes, in
/// their order. Lines that the record does not have, about memory and sensors, may say anything but
/// scores and verdicts. Local times may be those of any zone.
/// @param measured of recorded_runs()
/// @param rest what must follow after the runs
/// @return what differs first, in words; empty: nothing
std::string differing_line(const std::string& text, const Measured& measured,
                           const std::string& rest);

}  // namespace speedwell
