// SPDX-License-Identifier: BSD-3-Clause
#include "app/monitor.hpp"

#include <fmt/format.h>

#include "app/output.hpp"
#include "comm/communicator.hpp"

namespace speedwell {

std::optional<MonitorOptions> monitor_of(const MonitorArguments& asked, int rank) {
  const auto limit = [](double value) { return value > 0 ? std::optional(value) : std::nullopt; };
  MonitorOptions options;
  options.limits = {limit(asked.temperature), limit(asked.clock), limit(asked.power)};
  const bool limited = asked.temperature > 0 || asked.clock > 0 || asked.power > 0;
  if (asked.seconds == 0 && !limited) return std::nullopt;
  if (asked.seconds > 0) options.seconds = asked.seconds;
  const std::string where = fmt::format("warning: rank {} on {}, ", rank, host_name());
  options.warn = [where](const std::string& words) { complain(where + words); };
  return options;
}

}  // namespace speedwell
