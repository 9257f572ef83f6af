// SPDX-License-Identifier: BSD-3-Clause
#include "app/environment_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <utility>

#include "device/cuda/driver.hpp"
#include "device/device.hpp"
#include "host/blas_library.hpp"
#include "host/processor.hpp"
#include "io/text.hpp"
#include "revision.hpp"

namespace speedwell {

namespace {

constexpr const char* own_gpus = "CUDA_VISIBLE_DEVICES";

bool is_compared(std::string_view name) {
  constexpr std::array<std::string_view, 5> beginnings{"OMP_", "OPENBLAS_", "NCCL_", "CUDA_",
                                                       "CUBLAS_"};
  return std::ranges::any_of(beginnings,
                             [&](std::string_view begin) { return name.starts_with(begin); });
}

std::string shown(const RankEnvironment& rank, const std::string& name) {
  const auto found = rank.values.find(name);
  return found == rank.values.end() ? "not there" : fmt::format("'{}'", printable(found->second));
}

/// Whether some node's ranks have different values.
bool differs_within_a_node(const std::vector<RankEnvironment>& ranks, const std::string& name) {
  std::map<std::string, std::string> of_node;
  return std::ranges::any_of(ranks, [&](const RankEnvironment& rank) {
    return of_node.try_emplace(rank.host, shown(rank, name)).first->second != shown(rank, name);
  });
}

}  // namespace

RankEnvironment environment_here(std::string host, const char* const* variables) {
  RankEnvironment mine{std::move(host), {}};
  for (; *variables != nullptr; ++variables) {
    const std::string_view one = *variables;
    const std::size_t end = std::min(one.find('='), one.size());
    if (is_compared(one.substr(0, end)))
      mine.values[std::string(one.substr(0, end))] = one.substr(std::min(end + 1, one.size()));
  }
  mine.values["the version of Speedwell"] =
      fmt::format("{} ({})", SPEEDWELL_VERSION, SPEEDWELL_REVISION);
  mine.values["the version of MPI"] = mpi_version();
  mine.values["BLAS"] = blas_description();
  mine.values["oneDNN"] = onednn_description();
  if (const std::string driver = loaded_driver(); !driver.empty())
    mine.values["NVIDIA's driver"] = driver;
  mine.values["the number of cores that it is bound to"] = fmt::to_string(bound_cores());
  return mine;
}

std::vector<std::string> differences(const std::vector<RankEnvironment>& ranks) {
  std::set<std::string> names;
  for (const RankEnvironment& rank : ranks)
    for (const auto& [name, value] : rank.values) names.insert(name);
  std::vector<std::string> lines;
  for (const std::string& name : names) {
    if (name == own_gpus && differs_within_a_node(ranks, name)) continue;
    const std::string first = shown(ranks.front(), name);
    const auto differs = [&](const RankEnvironment& rank) { return shown(rank, name) != first; };
    const auto other = std::ranges::find_if(ranks, differs);
    if (other == ranks.end()) continue;
    const auto more = std::ranges::count_if(ranks, differs) - 1;
    lines.push_back(fmt::format("rank {} on {}: {} is {}, but {} on rank 0 on {}{}",
                                other - ranks.begin(), other->host, name, shown(*other, name),
                                first, ranks.front().host,
                                more == 0 ? "" : fmt::format("; {} more ranks differ", more)));
  }
  return lines;
}

std::vector<std::string> environment_differences(const Communicator& world,
                                                 const RankEnvironment& mine) {
  const nlohmann::json as_json{{"host", mine.host}, {"values", mine.values}};
  const std::string text = as_json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  std::vector<RankEnvironment> ranks;
  for (const std::string& one : world.all_gather(text)) {
    if (world.rank() != 0) continue;
    const nlohmann::json rank = nlohmann::json::parse(one);
    ranks.push_back({rank["host"], rank["values"]});
  }
  return ranks.empty() ? std::vector<std::string>{} : differences(ranks);
}

}  // namespace speedwell
