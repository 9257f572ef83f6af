// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Whether a report of both benchmarks agrees with itself.
#pragma once

#include <ctime>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "bench/benchmark_runner.hpp"

namespace speedwell {

/// One thing that was checked.
struct SubmissionCheck {
  std::string what;
  std::string wrong;  ///< what is wrong, in words; empty: nothing
};

/// Checks of the document of json_of_both() in itself: of every run rates by operations and time,
/// times by the calendar, residuals by norms, verdicts and rules; that what stands at its top is
/// one of the runs; and that no run begins before the other has ended.
/// @param mxp,hpl recorded_runs() of the document @param now no run has ended later
/// @throws UsageError where a field is missing
std::vector<SubmissionCheck> check_document(const nlohmann::ordered_json& document,
                                            const Measured& mxp, const Measured& hpl,
                                            std::time_t now);

}  // namespace speedwell
