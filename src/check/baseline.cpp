// SPDX-License-Identifier: BSD-3-Clause
#include "check/baseline.hpp"

#include <fmt/format.h>
#include <speedwell/error.hpp>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "io/file.hpp"
#include "io/json.hpp"
#include "io/text.hpp"

namespace speedwell {

namespace {

using nlohmann::ordered_json;

std::vector<double> numbers(const ordered_json& from, std::size_t count) {
  std::vector<double> all;
  for (const ordered_json& one : from) all.push_back(one.is_null() ? NAN : one.get<double>());
  all.resize(count, NAN);
  return all;
}

/// The places of the check by their hosts.
std::map<std::string, std::vector<std::size_t>> places_of(const NodeCheck& check) {
  std::map<std::string, std::vector<std::size_t>> all;
  for (std::size_t i = 0; i < check.places.size(); ++i) all[check.places[i].host].push_back(i);
  return all;
}

}  // namespace

Baseline::Baseline(std::string path) : path_(std::move(path)) {
  const auto refuse = [&](const std::string& why) {
    throw UsageError(
        fmt::format("--baseline '{}': {}; allowed: a file that speedwell check --json has written",
                    printable(path_, longest_path), why));
  };
  const FileText file = read_file(path_);
  if (!file.problem.empty()) refuse(file.problem);
  const ordered_json document = parse_json(file.text, refuse);
  try {
    if (document.at("benchmark") != "check") refuse("it is of no check");
    document.at("date").get_to(date_);
    document.at("device_description").get_to(device_);
    std::size_t count = 0;
    for (const ordered_json& place : document.at("places"))
      places_[place.at("host").get<std::string>()].push_back(count++);
    for (const ordered_json& fact : document.at("facts"))
      if (fact.at("name") == "processor") fact.at("values").at(0).get_to(processor_);
    for (const ordered_json& figure : document.at("figures"))
      figures_[figure.at("name").get<std::string>()] = {numbers(figure.at("values"), count),
                                                        numbers(figure.at("deviations"), count)};
  } catch (const nlohmann::json::exception& error) {
    refuse("it is of no check: " + printable(error.what(), 120));
  }
}

void Baseline::require_same(const std::string& device, const std::string& processor) const {
  const auto require = [&](const char* what, const std::string& then, const std::string& now) {
    if (then != now)
      throw UsageError(
          fmt::format("--baseline '{}' is of another machine: its {} is {}, and here {}; allowed: "
                      "a check of this machine",
                      printable(path_, longest_path), what, printable(then, 120), now));
  };
  require("processor", processor_, processor);
  require("device", device_, device);
}

std::vector<Finding> Baseline::compare(const NodeCheck& check, const OutlierLimits& limits) const {
  std::vector<Finding> all;
  for (const auto& [host, here] : places_of(check)) {
    const auto there = places_.find(host);
    if (there == places_.end()) continue;
    if (there->second.size() != here.size())
      throw UsageError(fmt::format(
          "--baseline '{}' has {} ranks or GPUs on {}, and this check {}; allowed: as many",
          printable(path_, longest_path), there->second.size(), host, here.size()));
    for (const CheckedFigure& figure : check.figures) {
      const auto kept = figures_.find(figure.name);
      if (kept == figures_.end()) continue;
      for (std::size_t i = 0; i < here.size(); ++i) {
        const std::size_t then = there->second[i];
        const double value = figure.values[here[i]];
        const Spread usual{kept->second.values[then],
                           std::max(kept->second.deviations[then], figure.deviations[here[i]])};
        if (is_outlier(value, usual, figure.better, limits))
          all.push_back(
              {here[i], worse_text(figure, value, usual.median, "the baseline of " + date_)});
      }
    }
  }
  return all;
}

std::string Baseline::text(const NodeCheck& check) const {
  const auto now = places_of(check);
  const auto known =
      std::ranges::count_if(now, [&](const auto& node) { return places_.contains(node.first); });
  return fmt::format("the baseline is '{}' of {}; it has {} of {} nodes", path_, date_, known,
                     now.size());
}

}  // namespace speedwell
