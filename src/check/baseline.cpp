// SPDX-License-Identifier: BSD-3-Clause
#include "check/baseline.hpp"

#include <fmt/format.h>
#include <speedwell/error.hpp>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "io/file.hpp"
#include "io/file_lock.hpp"
#include "io/json.hpp"
#include "io/text.hpp"

namespace speedwell {

namespace {

using nlohmann::ordered_json;

constexpr const char* schema = "speedwell-baseline/1";

/// The indices of the places on each host, in the order of the check.
std::map<std::string, std::vector<std::size_t>> places_by_host(const NodeCheck& check) {
  std::map<std::string, std::vector<std::size_t>> all;
  for (std::size_t i = 0; i < check.places.size(); ++i) all[check.places[i].host].push_back(i);
  return all;
}

}  // namespace

Baseline Baseline::read(const std::string& path) {
  Baseline baseline;
  baseline.path_ = path;
  const FileText file = read_file(path);
  if (file.is_missing) return baseline;
  if (!file.problem.empty())
    throw UsageError(
        fmt::format("--baseline '{}' cannot be read ({}); allowed: a file that can, or "
                    "a new one",
                    printable(path, longest_path), file.problem));
  const auto damaged = [&](const std::string& why) {
    return UsageError(
        fmt::format("--baseline '{}' is no baseline: {}; allowed: a file that speedwell "
                    "check has written, or a new one",
                    printable(path, longest_path), why));
  };
  const ordered_json document =
      parse_json(file.text, [&](const std::string& why) { throw damaged(why); });
  if (!document.is_object()) throw damaged("it is no JSON object");
  try {
    if (const auto found = document.at("schema").get<std::string>(); found != schema)
      throw damaged(fmt::format("its schema is '{}'", printable(found)));
    document.at("processor").get_to(baseline.processor_);
    document.at("device").get_to(baseline.device_);
    for (const auto& [host, node] : document.at("nodes").items()) {
      Node& mine = baseline.nodes_[host];
      node.at("date").get_to(mine.date);
      for (const ordered_json& place : node.at("places")) {
        Place& figures = mine.places.emplace_back();
        for (const auto& [name, figure] : place.items())
          figures[name] = {figure.at("value").get<double>(), figure.at("deviation").get<double>()};
      }
    }
  } catch (const nlohmann::json::exception& error) {
    throw damaged(printable(error.what(), 120));
  }
  return baseline;
}

void Baseline::require_same(const MachineFacts& machine, const std::string& processor) const {
  if (nodes_.empty()) return;
  const auto require = [&](const char* what, const std::string& then, const std::string& now) {
    if (then != now)
      throw UsageError(
          fmt::format("--baseline '{}' is of another machine: its {} is {}, and here "
                      "{}; allowed: a baseline of this machine, or a new file",
                      printable(path_, longest_path), what, printable(then, 120), now));
  };
  require("processor", processor_, processor);
  require("device", device_, machine.device);
}

std::vector<Finding> Baseline::compare(const NodeCheck& check, const OutlierLimits& limits) const {
  std::vector<Finding> all;
  for (const auto& [host, here] : places_by_host(check)) {
    const auto node = nodes_.find(host);
    if (node == nodes_.end()) continue;
    if (node->second.places.size() != here.size())
      throw UsageError(fmt::format(
          "--baseline '{}' has {} ranks or GPUs on {}, and this check {}; "
          "allowed: as many",
          printable(path_, longest_path), node->second.places.size(), host, here.size()));
    const std::string then = fmt::format("the baseline of {}", node->second.date);
    for (std::size_t i = 0; i < here.size(); ++i)
      for (const CheckedFigure& figure : check.figures) {
        const auto kept = node->second.places[i].find(figure.name);
        if (kept == node->second.places[i].end()) continue;
        const Spread usual{kept->second.value,
                           std::max(kept->second.deviation, figure.deviations[here[i]])};
        const double now = figure.values[here[i]];
        if (is_outlier(now, usual, figure.better, limits))
          all.push_back({here[i], worse_text(figure, now, usual.median, then)});
      }
  }
  return all;
}

std::size_t Baseline::add_to(const std::string& path, const NodeCheck& check,
                             const std::string& processor, const std::string& date) {
  const FileLock lock(path);
  Baseline now = read(path);
  now.require_same(check.machine, processor);
  const std::size_t added = now.add(check, processor, date);
  if (added > 0) now.write();
  return added;
}

std::size_t Baseline::add(const NodeCheck& check, const std::string& processor,
                          const std::string& date) {
  processor_ = processor;
  device_ = check.machine.device;
  std::size_t added = 0;
  for (const auto& [host, here] : places_by_host(check)) {
    const auto [node, is_new] = nodes_.try_emplace(host, Node{date});
    if (!is_new) continue;
    ++added;
    for (const std::size_t place : here) {
      Place& figures = node->second.places.emplace_back();
      for (const CheckedFigure& figure : check.figures)
        if (const double value = figure.values[place]; value - value == 0)
          figures[figure.name] = {value, figure.deviations[place]};
    }
  }
  return added;
}

void Baseline::write() const {
  ordered_json document = {{"schema", schema}, {"processor", processor_}, {"device", device_}};
  ordered_json& nodes = document["nodes"] = ordered_json::object();
  for (const auto& [host, node] : nodes_) {
    ordered_json places = ordered_json::array();
    for (const Place& place : node.places) {
      ordered_json figures = ordered_json::object();
      for (const auto& [name, kept] : place)
        figures[name] = {{"value", kept.value}, {"deviation", kept.deviation}};
      places.push_back(std::move(figures));
    }
    nodes[host] = {{"date", node.date}, {"places", std::move(places)}};
  }
  write_json(path_, document);
}

}  // namespace speedwell
