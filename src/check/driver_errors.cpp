// SPDX-License-Identifier: BSD-3-Clause
#include "check/driver_errors.hpp"

#include <fmt/format.h>

namespace speedwell {

namespace {

void add(std::vector<std::string>& list, const Sensed<>& count, const char* what) {
  if (count && *count > 0) list.push_back(fmt::format("{}: {:g}", what, *count));
}

}  // namespace

DriverErrors gpu_errors(const GpuState& s) {
  DriverErrors errors;
  add(errors.serious, s.ecc_uncorrected, "errors of the GPU's memory, not corrected");
  add(errors.serious, s.remap_pending,
      "rows of the GPU's memory that wait for a reset to be replaced");
  add(errors.serious, s.remap_failed, "rows of the GPU's memory that could not be replaced");
  add(errors.serious, s.nvlinks_down, "NVLinks that are down");
  add(errors.corrected, s.ecc_corrected, "errors of the GPU's memory, corrected");
  add(errors.corrected, s.rows_remapped_uncorrected, "rows of the GPU's memory that were replaced");
  add(errors.corrected, s.pcie_replays, "packets that PCIe sent again");
  add(errors.corrected, s.nvlink_errors, "errors of NVLinks, corrected");
  return errors;
}

DriverErrors memory_errors(const SystemFiles& files) {
  const std::string folder = "/sys/devices/system/edac/mc/";
  DriverErrors errors;
  double uncorrected = 0;
  double corrected = 0;
  for (const std::string& controller : files.names(folder)) {
    if (controller.rfind("mc", 0) != 0) continue;
    const auto count = [&](const char* file) {
      return static_cast<double>(files.number(folder + controller + file).value().value_or(0));
    };
    uncorrected += count("/ue_count");
    corrected += count("/ce_count");
  }
  add(errors.serious, uncorrected, "errors of the host's memory, not corrected");
  add(errors.corrected, corrected, "errors of the host's memory, corrected");
  return errors;
}

}  // namespace speedwell
