// SPDX-License-Identifier: BSD-3-Clause
#include "core/trace.hpp"

#include <algorithm>
#include <array>
#include <new>
#include <utility>

namespace speedwell {

namespace {

// The names, in the order of the enumerations.
constexpr std::array<std::string_view, 28> activities{
    "warm-up",         "generation",       "factorization",  "refinement", "solution",
    "verification",    "diagonal",         "solve panel",    "panel",      "apply to panel",
    "exchange rows",   "place rows",       "solve row",      "update",     "wait for panel",
    "wait for row",    "wait for rows",    "share diagonal", "share rows", "compare pivots",
    "wait for pivots", "wait for updates", "agree",          "solve",      "solve L",
    "solve U",         "residual",         "product"};
static_assert(activities.size() == static_cast<std::size_t>(Activity::product) + 1);

constexpr std::array<std::string_view, 6> tracks{"stages", "host",    "panels",
                                                 "rows",   "updates", "solves"};
static_assert(tracks.size() == static_cast<std::size_t>(Track::solves) + 1);

constexpr std::array<std::string_view, 7> phases{
    "", "panel", "rows", "broadcast_exposed", "update", "solves", "residuals"};
static_assert(phases.size() == static_cast<std::size_t>(Phase::residuals) + 1);

}  // namespace

std::string_view name(Activity activity) {
  return activities.at(static_cast<std::size_t>(activity));
}

std::string_view name(Track track) {
  return tracks.at(static_cast<std::size_t>(track));
}

std::string_view name(Phase phase) {
  return phases.at(static_cast<std::size_t>(phase));
}

TraceCounter trace_counter(std::string_view name, double time, double value) {
  TraceCounter counter{time, value};
  name.copy(counter.name.data(), counter.name.size() - 1);
  return counter;
}

Trace::Trace(std::size_t most) : most_(most) {
  constexpr std::size_t usual = 8192;  // enough that a usual run allocates nothing while timed
  trace_.spans.reserve(std::min(usual, most));
}

void Trace::add(Track track, double begin, double end, const TraceLabel& label) noexcept {
  try {
    if (trace_.spans.size() < most_)
      trace_.spans.push_back({begin, end, label, track});
    else
      ++trace_.left_out;
  } catch (const std::bad_alloc&) {
    most_ = trace_.spans.size();
    ++trace_.left_out;
  }
}

RankTrace Trace::take() {
  return std::exchange(trace_, {});
}

}  // namespace speedwell
