// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Errors of memory and links that drivers have counted since they were loaded.
#pragma once

#include <string>
#include <vector>

#include "sensors/nvml.hpp"
#include "sensors/system_file.hpp"

namespace speedwell {

struct DriverErrors {
  std::vector<std::string> serious;    ///< data may have been lost, or a repair waits for a reset
  std::vector<std::string> corrected;  ///< what was corrected or sent again
};

/// Those of a GPU. Counters that it does not have are left out.
DriverErrors gpu_errors(const GpuState& state);
/// Those of the host's memory controllers, by Linux's EDAC
/// (Documentation/admin-guide/RAS/main.rst). None where there is no such driver.
DriverErrors memory_errors(const SystemFiles& files);

}  // namespace speedwell
