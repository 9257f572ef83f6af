// SPDX-License-Identifier: BSD-3-Clause
// Which work waits for which, where queues run side by side: on emulated GPUs, whose streams keep
// to an order that would show a panel waiting for the update that shall hide it, or the reverse.
#include <algorithm>
#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

#include "catch.hpp"
#include "core/trace.hpp"
#include "matrix/panel_ring.hpp"
#include "pipeline.hpp"

using namespace lupine;
using namespace lupine::test;

namespace {

std::string order() {
  const char* value = std::getenv("LUPINE_EMULATION_ORDER");
  return value == nullptr ? "" : value;
}

/// When some of a step's work began, and when all of it was done.
struct Period {
  double begin = std::numeric_limits<double>::infinity();
  double end = -std::numeric_limits<double>::infinity();
  void add(const TraceSpan& span) {
    begin = std::min(begin, span.begin);
    end = std::max(end, span.end);
  }
  bool any() const { return end >= begin; }
};

Period period_of(const Trace& trace, std::int64_t step, const std::vector<Activity>& activities) {
  Period period;
  for (const TraceSpan& span : trace.spans())
    if (span.label.step == step &&
        std::find(activities.begin(), activities.end(), span.label.activity) != activities.end())
      period.add(span);
  return period;
}

constexpr std::int64_t n = 96;

struct Case {
  GridShape shape;
  int lookahead;
  std::int64_t chunk;
  Pivoting pivoting;
};

/// Factors, and checks for each step that has both: panel k is done before any chunk of the rest
/// beside it has begun (high-first), or the other way round (low-first). @return steps with both
int check_steps(const Case& c) {
  const auto all = Communicator::duplicate(MPI_COMM_WORLD);
  CAPTURE(c.shape.nprow, c.shape.npcol, c.lookahead, c.chunk, name(c.pivoting));
  BenchmarkOptions o;
  o.n = n;
  o.run.nb = 8;
  Problem p(all, c.shape, o);
  Trace trace(p.clock);
  FactorOptions f{Precision::fp16, o.run.nb, c.lookahead, BroadcastMethod::ring_modified};
  f.pivoting = c.pivoting;
  f.chunk = c.chunk;
  REQUIRE(p.factor(f).usable());  // scratch memory grows in a first run, and that waits for all
  p.generate();
  f.trace = &trace;
  REQUIRE(p.factor(f).usable());
  int both = 0;
  for (std::int64_t k = c.lookahead; k < o.n / o.run.nb; ++k) {
    const Period panel =
        period_of(trace, k, {Activity::diagonal, Activity::solve_panel, Activity::pivoted_panel});
    const Period rest = period_of(trace, k - c.lookahead, {Activity::update});
    if (!panel.any() || !rest.any()) continue;
    ++both;
    CAPTURE(k);
    if (order() == "high-first") CHECK(panel.end <= rest.begin);
    if (order() == "low-first") CHECK(rest.end <= panel.begin);
  }
  return both;
}

}  // namespace

TEST_CASE("a panel does not wait for the update beside it, nor that for the panel", "[.order]") {
  REQUIRE((order() == "high-first" || order() == "low-first"));
  REQUIRE(make_chosen_device()->overlaps());
  const auto all = Communicator::duplicate(MPI_COMM_WORLD);
  for (const GridShape shape : grids(all.size()))
    for (const int lookahead : {1, 3})
      for (const std::int64_t chunk : {0, 17, 5})
        for (const Pivoting pivoting : {Pivoting::none, Pivoting::partial}) {
          // A panel waits for the others of its process column; meanwhile more chunks are solved
          // for than have a place, so the first of them are updated.
          if (shape.nprow > 1 && chunk > 0 && n / shape.npcol > PanelRing::most_chunks * chunk)
            continue;
          const int steps = check_steps({shape, lookahead, chunk, pivoting});
          CHECK(all.all_reduce(std::int64_t{steps}, Reduction::sum) > 0);
        }
}
