// SPDX-License-Identifier: BSD-3-Clause
#include "io/trace_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "core/expects.hpp"

namespace speedwell {

namespace {

using nlohmann::ordered_json;

std::string text_of(const ordered_json& value) {
  return value.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

ordered_json metadata(std::string_view what, std::size_t rank, int track, ordered_json arguments) {
  return {
      {"ph", "M"}, {"name", what}, {"pid", rank}, {"tid", track}, {"args", std::move(arguments)}};
}

// Collects events as text: a JSON document of millions of spans would take ten times the memory.
class Events {
 public:
  explicit Events(double zero) : zero_(zero) {}

  void add(const ordered_json& event) { begin() += text_of(event); }

  void add(std::size_t rank, const TraceSpan& span) {
    const TraceLabel& label = span.label;
    auto out = std::back_inserter(begin());
    fmt::format_to(out, R"({{"ph":"X","name":"{}","pid":{},"tid":{},"ts":{:.3f},"dur":{:.3f})",
                   name(label.activity), rank, static_cast<int>(span.track),
                   microseconds(span.begin), (span.end - span.begin) * 1e6);
    if (label.phase != Phase::none) fmt::format_to(out, R"(,"cat":"{}")", name(label.phase));
    const char* before = R"(,"args":{)";
    for (const auto& [key, value] : {std::pair("step", label.step), std::pair("rows", label.rows),
                                     std::pair("columns", label.columns)}) {
      if (value < 0) continue;
      fmt::format_to(out, R"({}"{}":{})", before, key, value);
      before = ",";
    }
    text_ += *before == ',' && before[1] == '\0' ? "}}" : "}";
  }

  void add(std::size_t rank, const TraceCounter& counter) {
    fmt::format_to(std::back_inserter(begin()),
                   R"({{"ph":"C","name":"{0}","pid":{1},"ts":{2:.3f},"args":{{"{0}":{3:g}}}}})",
                   counter.name.data(), rank, microseconds(counter.time), counter.value);
  }

  double microseconds(double time) const { return (time - zero_) * 1e6; }
  std::string take() { return std::move(text_); }

 private:
  std::string& begin() { return text_ += text_.empty() ? "\n" : ",\n"; }

  double zero_;
  std::string text_;
};

/// Adds the names of the ranks and of their tracks.
void add_names(Events& events, const std::vector<std::string>& processes,
               const std::vector<TracedRun>& runs) {
  for (std::size_t rank = 0; rank < processes.size(); ++rank) {
    events.add(metadata("process_name", rank, 0, {{"name", processes[rank]}}));
    events.add(metadata("process_sort_index", rank, 0, {{"sort_index", rank}}));
    std::set<Track> tracks;
    for (const TracedRun& run : runs)
      if (rank < run.ranks.size())
        for (const TraceSpan& span : run.ranks[rank].spans) tracks.insert(span.track);
    for (const Track track : tracks) {
      const int id = static_cast<int>(track);
      events.add(metadata("thread_name", rank, id, {{"name", name(track)}}));
      events.add(metadata("thread_sort_index", rank, id, {{"sort_index", id}}));
    }
  }
}

}  // namespace

std::string chrome_trace(const std::vector<std::string>& processes,
                         const std::vector<TracedRun>& runs, const ordered_json& other) {
  SPEEDWELL_EXPECTS(std::all_of(runs.begin(), runs.end(), [&](const TracedRun& run) {
    return run.ranks.size() <= processes.size();
  }));
  Events events(runs.empty() ? 0 : runs.front().begin);
  add_names(events, processes, runs);
  for (const TracedRun& run : runs) {
    events.add({{"ph", "i"},
                {"s", "g"},
                {"name", run.name},
                {"pid", 0},
                {"tid", 0},
                {"ts", events.microseconds(run.begin)}});
    for (std::size_t rank = 0; rank < run.ranks.size(); ++rank) {
      for (const TraceSpan& span : run.ranks[rank].spans) events.add(rank, span);
      for (const TraceCounter& counter : run.ranks[rank].counters) events.add(rank, counter);
    }
  }
  return fmt::format("{{\"traceEvents\":[{}\n],\n\"displayTimeUnit\":\"ms\",\n\"otherData\":{}}}\n",
                     events.take(), text_of(other));
}

}  // namespace speedwell
