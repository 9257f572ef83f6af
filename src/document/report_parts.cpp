// SPDX-License-Identifier: BSD-3-Clause
#include "document/report_parts.hpp"
#include "core/counted.hpp"
#include "io/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/matrix_traits.hpp"
#include "revision.hpp"
#include "setup/sizing.hpp"

namespace speedwell {

using nlohmann::ordered_json;

namespace {

std::vector<std::string> nodes(const std::vector<std::string>& hosts) {
  std::vector<std::string> unique;
  for (const std::string& host : hosts)
    if (std::find(unique.begin(), unique.end(), host) == unique.end()) unique.push_back(host);
  return unique;
}

}  // namespace

std::string banner(std::string_view title) {
  return fmt::format("{0}\nSpeedwell {1} ({2})  --  {3}\n{0}\n\n", double_rule, SPEEDWELL_VERSION,
                     SPEEDWELL_REVISION, title);
}

std::string paper_line(const std::optional<Paper>& paper) {
  if (!paper) return "";
  return fmt::format("PREDICTED for {} ({}): nothing was run\n", paper->machine, paper->validation);
}

std::string line(std::string_view label, const std::string& value, const std::string& reason) {
  return fmt::format("{:<10} : {}\n", label,
                     reason.empty() ? value : fmt::format("{:<12} chosen: {}", value, reason));
}

std::string list(const char* title, const std::vector<std::string>& notes) {
  std::string text;
  for (const std::string& note : notes) text += fmt::format("- {}\n", note);
  return text.empty() ? text : fmt::format("\n{}\n{}", title, text);
}

std::string ranks_text(const std::vector<std::string>& hosts) {
  const std::size_t count = nodes(hosts).size();
  return fmt::format("{} on {}, the first {}", hosts.size(), counted(count, "node"), hosts.front());
}

std::string chunk_text(std::int64_t chunk, std::int64_t n) {
  return chunk < n ? std::to_string(chunk) : "all";
}

std::string matrix_text(const BenchmarkOptions& o) {
  if (!traits_of(o.matrix).tunable) return fmt::format("{}, seed {}", name(o.matrix), o.seed);
  return fmt::format("{}, kappa {:g}, rho {:g}; seed of b {}", name(o.matrix), o.kappa, o.rho,
                     o.seed + 1);
}

std::string stall_text(double timeout) {
  return timeout > 0 ? fmt::format("ended after {:g} s of waiting", timeout)
                     : "waited for without end";
}

ordered_json json_origin(std::string_view benchmark, std::time_t begin,
                         const std::vector<std::string>& hosts, const std::string& command_line) {
  return {{"schema", "speedwell/1"},      {"benchmark", benchmark},
          {"version", SPEEDWELL_VERSION}, {"revision", SPEEDWELL_REVISION},
          {"date", utc_text(begin)},      {"hosts", nodes(hosts)},
          {"command_line", command_line}};
}

std::string peak_text(const PeakMemory& peak, bool on_device,
                      const std::vector<std::string>& hosts) {
  const std::optional<RankBytes>& most = on_device ? peak.device : peak.resident;
  if (!most) return "";
  return fmt::format("at most {} {} (rank {} on {})", gibibytes(most->bytes),
                     on_device ? "allocated" : "resident", most->rank,
                     hosts[static_cast<std::size_t>(most->rank)]);
}

ordered_json json_of(const PeakMemory& peak, const std::vector<std::string>& hosts) {
  const auto one = [&](const std::optional<RankBytes>& most) {
    if (!most) return ordered_json(nullptr);
    return ordered_json{{"bytes", static_cast<std::int64_t>(most->bytes)},
                        {"rank", most->rank},
                        {"host", hosts[static_cast<std::size_t>(most->rank)]}};
  };
  return {{"resident", one(peak.resident)}, {"device", one(peak.device)}};
}

ordered_json number_or_null(double value, bool known) {
  return known && std::isfinite(value) ? ordered_json(value) : ordered_json(nullptr);
}

ordered_json index_or_null(std::int64_t value) {
  return value < 0 ? ordered_json(nullptr) : ordered_json(value);
}

ordered_json text_or_null(const std::string& text) {
  return text.empty() ? ordered_json(nullptr) : ordered_json(text);
}

}  // namespace speedwell
