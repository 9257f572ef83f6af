// SPDX-License-Identifier: BSD-3-Clause
#include "document/trace_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "io/json.hpp"
#include "revision.hpp"

namespace speedwell {

namespace {

using nlohmann::ordered_json;

std::string run_name(const BenchmarkOptions& o, int turn, int repeat) {
  const std::string run = fmt::format("{} n {} nb {} {} x {} {}", name(o.benchmark), o.n, o.run.nb,
                                      o.run.nprow, o.run.npcol, name(o.precision));
  return repeat == 1 ? run : fmt::format("{}, run {} of {}", run, turn + 1, repeat);
}

ordered_json description(const TracedRun& run, const BenchmarkOptions& o) {
  std::int64_t left_out = 0;
  for (const RankTrace& rank : run.ranks) left_out += rank.left_out;
  return {{"name", run.name},
          {"benchmark", name(o.benchmark)},
          {"n", o.n},
          {"nb", o.run.nb},
          {"P", o.run.nprow},
          {"Q", o.run.npcol},
          {"precision", name(o.precision)},
          {"device", name(o.run.device)},
          {"spans_left_out", left_out}};
}

}  // namespace

void TraceReport::add(const Setup& setup, int turn, int repeat, RunTrace run) {
  shorten(run);
  name_processes(setup);
  runs_.push_back({run_name(setup.options, turn, repeat), run.begin, std::move(run.ranks)});
  setups_.push_back(setup);
}

// Drops the last spans of each rank for which the file has no room.
void TraceReport::shorten(RunTrace& run) {
  if (run.ranks.empty()) return;
  const std::size_t most = room_ / run.ranks.size();
  for (RankTrace& rank : run.ranks) {
    if (rank.spans.size() > most) {
      rank.left_out += static_cast<std::int64_t>(rank.spans.size() - most);
      rank.spans.resize(most);
    }
    room_ -= rank.spans.size();
    left_out_ += rank.left_out;
  }
}

// Names a rank "rank 3 on host (1,0)", without its place in the grid if that changes between runs.
void TraceReport::name_processes(const Setup& setup) {
  for (std::size_t rank = 0; rank < setup.machine.hosts.size(); ++rank) {
    const GridPosition place = setup.lu.grid.position(static_cast<int>(rank));
    const std::string bare = fmt::format("rank {} on {}", rank, setup.machine.hosts[rank]);
    const std::string full = fmt::format("{} ({},{})", bare, place.row, place.column);
    if (rank == processes_.size())
      processes_.push_back(full);
    else if (processes_[rank] != full)
      processes_[rank] = bare;
  }
}

void TraceReport::write(const std::string& path, const std::string& command_line) const {
  ordered_json other = {{"version", SPEEDWELL_VERSION},
                        {"revision", SPEEDWELL_REVISION},
                        {"command_line", command_line},
                        {"runs", ordered_json::array()}};
  for (std::size_t i = 0; i < runs_.size(); ++i)
    other["runs"].push_back(description(runs_[i], setups_[i].options));
  write_whole(path, chrome_trace(processes_, runs_, other));
}

}  // namespace speedwell
