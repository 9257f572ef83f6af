// SPDX-License-Identifier: BSD-3-Clause
#include "report/check_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "document/report_parts.hpp"

namespace speedwell {

namespace {

using nlohmann::ordered_json;

/// The place with the worst value of a figure, and by how much it is worse than the median.
std::string worst_text(const NodeCheck& check, const CheckedFigure& figure, const Spread& spread) {
  double most = 0;
  std::size_t worst = 0;
  for (std::size_t i = 0; i < figure.values.size(); ++i)
    if (const double part = shortfall(figure.values[i], spread.median, figure.better);
        part > most) {
      most = part;
      worst = i;
    }
  if (most == 0) return fmt::format("{:>6.1f} %", most);
  return fmt::format("{:>6.1f} %  {}", 100 * most, text_of(check.places[worst]));
}

std::string figure_lines(const NodeCheck& check) {
  std::string text = fmt::format("{:<40} {:>12}", "FIGURE", "median");
  text += check.places.size() > 1 ? fmt::format(" {:>9} {:>8}\n", "spread", "worst") : "\n";
  for (const CheckedFigure& figure : check.figures) {
    const auto spread = spread_of(figure.values);
    const std::string name = fmt::format("{} [{}]", figure.name, figure.unit);
    if (!spread) {
      text += fmt::format("{:<40} {:>12}\n", name, "not known");
      continue;
    }
    text += fmt::format("{:<40} {:>12.4g}", name, spread->median);
    if (check.places.size() > 1)
      text += fmt::format(" {:>7.1f} % {}", 100 * spread->deviation / spread->median,
                          worst_text(check, figure, *spread));
    text += "\n";
  }
  return text;
}

ordered_json json_of(const CheckedFigure& figure) {
  const auto spread = spread_of(figure.values);
  const auto list_of = [](const std::vector<double>& values) {
    ordered_json all = ordered_json::array();
    for (const double value : values) all.push_back(number_or_null(value));
    return all;
  };
  return {{"name", figure.name},
          {"unit", figure.unit},
          {"better", figure.better == Better::higher ? "higher" : "lower"},
          {"median", spread ? ordered_json(spread->median) : ordered_json(nullptr)},
          {"median_deviation", spread ? ordered_json(spread->deviation) : ordered_json(nullptr)},
          {"values", list_of(figure.values)},
          {"deviations", list_of(figure.deviations)}};
}

}  // namespace

std::string check_report(const CheckSummary& summary, const std::vector<std::string>& notes) {
  const NodeCheck& check = summary.check;
  const MachineFacts& machine = check.machine;
  std::string text = banner("node check");
  text += line("RANKS", ranks_text(machine.hosts));
  text += line("GRID", fmt::format("{} x {}", machine.run.nprow, machine.run.npcol),
               machine.reasons.grid);
  text += line("DEVICE", fmt::format("{}: {}", name(machine.run.device), machine.device));
  for (const CheckedFact& fact : check.facts)
    text += line(fact.name, fact.values.front().empty() ? "not known" : fact.values.front());
  text += fmt::format("TIME       : {:.1f} s\n\n", check.seconds);
  text += figure_lines(check);
  std::vector<std::string> remarks = notes;
  for (const Finding& one : check.notices)
    remarks.push_back(fmt::format("{}: {}", text_of(check.places[one.place]), one.words));
  text += list("NOTES", remarks);
  std::vector<std::string> lines;
  for (const Finding& finding : summary.findings)
    lines.push_back(fmt::format("{}: {}", text_of(check.places[finding.place]), finding.words));
  text += list("OUTLIERS", lines);
  std::set<std::size_t> out;
  for (const Finding& finding : summary.findings) out.insert(finding.place);
  text +=
      "\n" + line("RESULT", fmt::format("{} of {} places out of line; limits: {:g} %, and {:g} "
                                        "times the median deviation; or {:g} times worse",
                                        out.size(), check.places.size(), 100 * summary.limits.part,
                                        summary.limits.deviations, summary.limits.times));
  return text;
}

ordered_json json_of_check(const CheckSummary& summary, std::time_t begin,
                           const std::string& command_line, const std::vector<std::string>& notes) {
  const NodeCheck& check = summary.check;
  ordered_json document = json_origin("check", begin, check.machine.hosts, command_line);
  document["nprow"] = check.machine.run.nprow;
  document["npcol"] = check.machine.run.npcol;
  document["device"] = name(check.machine.run.device);
  document["device_description"] = check.machine.device;
  document["seconds"] = check.seconds;
  document["limit_percent"] = 100 * summary.limits.part;
  document["limit_deviations"] = summary.limits.deviations;
  document["limit_times"] = summary.limits.times;
  ordered_json& places = document["places"] = ordered_json::array();
  for (const CheckedPlace& place : check.places)
    places.push_back({{"rank", place.rank}, {"host", place.host}, {"device", place.device}});
  ordered_json& facts = document["facts"] = ordered_json::array();
  for (const CheckedFact& fact : check.facts)
    facts.push_back({{"name", fact.name}, {"values", fact.values}});
  ordered_json& figures = document["figures"] = ordered_json::array();
  for (const CheckedFigure& figure : check.figures) figures.push_back(json_of(figure));
  ordered_json& findings = document["outliers"] = ordered_json::array();
  for (const Finding& finding : summary.findings)
    findings.push_back({{"place", finding.place},
                        {"rank", check.places[finding.place].rank},
                        {"host", check.places[finding.place].host},
                        {"words", finding.words}});
  ordered_json& notices = document["driver_notices"] = ordered_json::array();
  for (const Finding& one : check.notices)
    notices.push_back({{"place", one.place}, {"words", one.words}});
  document["baseline"] = text_or_null(summary.baseline);
  document["notes"] = notes;
  return document;
}

}  // namespace speedwell
