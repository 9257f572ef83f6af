// SPDX-License-Identifier: BSD-3-Clause
#include "paper/study_parts.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "document/option_json.hpp"
#include "document/report_parts.hpp"
#include "setup/sizing.hpp"

#include "revision.hpp"

namespace speedwell::paper {

using nlohmann::ordered_json;

std::string machine_head(std::string_view title, const Scenario& scenario,
                         const std::string& ranks) {
  return banner(title) + paper_line(paper_of(scenario)) +
         line("MACHINE", scenario.machine.description) +
         line("RANKS", fmt::format("{}, each on {}", ranks, scenario.device.name));
}

std::string study_head(std::string_view title, const Scenario& scenario,
                       const BenchmarkOptions& asked, const std::string& ranks) {
  return machine_head(title, scenario, ranks) +
         line("BENCHMARK", asked.benchmark == Benchmark::mxp
                               ? fmt::format("HPL-MxP, {} corrections", scenario.corrections)
                               : "HPL");
}

ordered_json machine_json(std::string_view benchmark, const Scenario& scenario) {
  return {{"schema", "speedwell/1"},
          {"benchmark", benchmark},
          {"version", SPEEDWELL_VERSION},
          {"revision", SPEEDWELL_REVISION},
          {"predicted",
           {{"machine", scenario.machine.name},
            {"validation", text_or_null(scenario.machine.validation)},
            {"corrections", scenario.corrections},
            {"device", scenario.device.name}}}};
}

ordered_json study_json(std::string_view study, const Scenario& scenario,
                        const BenchmarkOptions& asked) {
  ordered_json document = machine_json(name(asked.benchmark), scenario);
  document.update({{"study", study}, {"asked", json_of_asked(asked)}});
  return document;
}

double lu_gflops(const Predicted& p) {
  return benchmark_flops(p.chosen.n) / p.lu_seconds / 1e9;
}

ordered_json times_json(const Predicted& p) {
  const bool whole = p.refusal.empty() && !p.sampled;
  const bool known = p.refusal.empty();
  return {{"refusal", text_or_null(p.refusal)},
          {"time_seconds", number_or_null(p.seconds, whole)},
          {"lu_seconds", number_or_null(p.lu_seconds, known)},
          {"refine_seconds", number_or_null(p.refine_seconds, whole)},
          {"gflops", number_or_null(p.gflops, whole)},
          {"lu_gflops", known ? ordered_json(lu_gflops(p)) : ordered_json(nullptr)}};
}

}  // namespace speedwell::paper
