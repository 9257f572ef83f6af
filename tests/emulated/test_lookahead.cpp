// SPDX-License-Identifier: BSD-3-Clause
// Checks which work waits for which where queues run side by side. Emulated GPUs run their streams
// in an order in which a panel that waits for the update beside it, or the reverse, is seen.
#include <algorithm>
#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

#include "catch.hpp"
#include "core/trace.hpp"
#include "matrix/panel_ring.hpp"
#include "pipeline.hpp"

namespace speedwell::test::lookahead_tests {
namespace {

std::string order() {
  const char* value = std::getenv("SPEEDWELL_EMULATION_ORDER");
  return value == nullptr ? "" : value;
}

/// The time from the first begin to the last end of some work of a step.
struct Period {
  double begin = std::numeric_limits<double>::infinity();
  double end = -std::numeric_limits<double>::infinity();
  void add(const TraceSpan& span) {
    begin = std::min(begin, span.begin);
    end = std::max(end, span.end);
  }
  bool any() const { return end >= begin; }
};

Period period_of(const Trace& trace, std::int64_t step, const std::vector<Activity>& activities,
                 bool first_alone = false) {
  Period period;
  for (const TraceSpan& span : trace.spans()) {
    if (span.label.step != step ||
        std::find(activities.begin(), activities.end(), span.label.activity) == activities.end())
      continue;
    if (first_alone && span.begin < period.begin) period = {};
    if (!first_alone || !period.any()) period.add(span);
  }
  return period;
}

constexpr std::int64_t n = 96;

struct Case {
  GridShape shape;
  std::int64_t chunk;
  Pivoting pivoting;
};

/// Factors, and checks each step that has a panel k and an update of the rest beside it: the panel
/// ends before the first chunk of the rest begins (high-first), or the reverse (low-first). Without
/// pivoting that holds for the panel's diagonal block, and its solve comes behind this chunk.
/// @return the number of such steps
int check_steps(const Case& c) {
  const auto all = Communicator::duplicate(comm_world());
  CAPTURE(c.shape.nprow, c.shape.npcol, c.chunk, name(c.pivoting));
  BenchmarkOptions o;
  o.n = n;
  o.run.nb = 8;
  Problem p(all, c.shape, o);
  Trace trace;
  LuPlan f{.width = o.run.nb, .pivoting = c.pivoting, .lookahead = 0, .chunk = c.chunk};
  // Measured times would tell that nothing is worth running side by side.
  const FactorRun how{.panel_part = 0.25};
  // Growing scratch memory waits for all queues. In a first run it does; without look-ahead, no
  // other rank waits for this one meanwhile.
  REQUIRE(p.factor(f, how).usable());
  p.generate();
  f.lookahead = 1;
  const RunContext::Tracing tracing(p.run, &trace);
  REQUIRE(p.factor(f, how).usable());
  int both = 0;
  for (std::int64_t k = 1; k < o.n / o.run.nb; ++k) {
    const Period panel = period_of(trace, k, {Activity::diagonal, Activity::pivoted_panel});
    const Period rest = period_of(trace, k - 1, {Activity::update}, true);
    if (!panel.any() || !rest.any()) continue;
    ++both;
    CAPTURE(k);
    if (order() == "high-first") CHECK(panel.end <= rest.begin);
    if (order() == "low-first") CHECK(rest.end <= panel.begin);
  }
  return both;
}

}  // namespace

TEST_CASE("a panel and the update beside it do not wait for each other", "[.order]") {
  REQUIRE((order() == "high-first" || order() == "low-first"));
  REQUIRE(make_chosen_device()->overlaps());
  const auto all = Communicator::duplicate(comm_world());
  for (const GridShape shape : grids(all.size()))
    for (const std::int64_t chunk : {0, 17, 5})
      for (const Pivoting pivoting : {Pivoting::none, Pivoting::partial}) {
        // A panel waits for other ranks of its process column. Meanwhile more chunks are solved
        // for than the ring holds, so the first of them must be updated before the panel ends.
        if (shape.nprow > 1 && chunk > 0 && n / shape.npcol > PanelRing::most_chunks * chunk)
          continue;
        const int steps = check_steps({shape, chunk, pivoting});
        CHECK(all.all_reduce(std::int64_t{steps}, Reduction::sum) > 0);
      }
}
}  // namespace speedwell::test::lookahead_tests
