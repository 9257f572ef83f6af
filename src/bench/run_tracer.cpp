// SPDX-License-Identifier: BSD-3-Clause
#include "bench/run_tracer.hpp"

#include <algorithm>

namespace speedwell {

namespace {
std::size_t most_spans(int ranks) {
  return std::min(RunTrace::most_spans / static_cast<std::size_t>(ranks), Trace::most_spans);
}
}  // namespace

RunTracer::RunTracer(const Communicator& all, RunContext& run)
    : all_(all),
      begin_(run.now()),
      line_(all, run.clock()),
      trace_(most_spans(all.size())),
      tracing_(run, &trace_) {}

RunTrace RunTracer::gather() {
  line_.end();
  if (const RunMeter* const meter = all_.run().hooks().meter) meter->add_samples(trace_);
  RankTrace mine = trace_.take();
  for (TraceSpan& span : mine.spans) {
    span.begin = line_.on_rank_0(span.begin);
    span.end = line_.on_rank_0(span.end);
  }
  for (TraceCounter& counter : mine.counters) counter.time = line_.on_rank_0(counter.time);
  auto spans = all_.gather(mine.spans);
  auto counters = all_.gather(mine.counters);
  const auto left_out = all_.gather(std::vector{mine.left_out});
  RunTrace run{begin_, {}};
  for (std::size_t rank = 0; rank < spans.size(); ++rank)
    run.ranks.push_back(
        {std::move(spans[rank]), left_out[rank].front(), std::move(counters[rank])});
  return run;
}

}  // namespace speedwell
