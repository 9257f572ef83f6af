// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The energy of a run, and samples taken beside it, in reports: as text and as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "sensors/energy_report.hpp"
#include "sensors/monitor.hpp"

namespace speedwell {

/// "1234 J: lu 1100, refinement 134; 5.67 GFLOPS/W (GPUs and CPU packages only; ...)", or "not
/// known: ..." with the first reason. @param flops operations of the run
std::string energy_text(const EnergyReport& energy, double flops);
/// When the timed part began and ended, to a millisecond, and what whole nodes took where they
/// count that: for a site's own meter. Empty where the times are not known.
std::string energy_times(const EnergyReport& energy);

/// An object; null where nothing was metered. What could not be read is null, with a reason.
nlohmann::ordered_json json_of(const std::optional<EnergyReport>& energy, double flops);

/// A table of the quantities that were sampled, with the lowest, the mean and the highest value and
/// where these were; the GPUs that were throttled; and the rank whose updates were slowest, with
/// its clock beside the median one. Empty where no samples were asked for.
/// @param monitors of each rank, as in SensorReport
/// @param update_rates flop/s of every rank's updates; empty: not known
std::string monitor_lines(const std::vector<std::string>& monitors,
                          const std::vector<double>& update_rates);

/// The highest sample of a quantity on any device; NaN where there is none.
double highest_sample(const std::vector<std::string>& monitors, Quantity quantity);

/// A list with an object for each rank that sampled something; null where none was asked for.
nlohmann::ordered_json json_of_monitors(const std::vector<std::string>& monitors);

}  // namespace speedwell
