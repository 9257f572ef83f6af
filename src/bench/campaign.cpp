// SPDX-License-Identifier: BSD-3-Clause
#include "bench/campaign.hpp"

#include <fmt/format.h>
#include <speedwell/error.hpp>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "comm/agreement.hpp"
#include "core/expects.hpp"
#include "core/option_range.hpp"
#include "core/option_text.hpp"

namespace speedwell {

namespace {

bool pivoted(const BenchmarkOptions& options) {
  return options.benchmark == Benchmark::hpl || options.pivoting == Pivoting::partial;
}

/// @param place of the grid in a file, with which the message begins; or empty
void check_grid(int p, int q, int ranks, const std::string& place) {
  const std::int64_t needed = std::int64_t{p} * q;
  if (needed > ranks)
    throw UsageError(fmt::format("{}-P {} x -Q {} is {} ranks, but {} run; allowed: at most {}",
                                 place, p, q, needed, ranks, ranks));
}

void check_grids(const HplDat& dat, int ranks) {
  const std::string place = dat.path.empty() ? "" : fmt::format("{} lines 11-12: ", dat.path);
  for (std::size_t i = 0; i < dat.p.size(); ++i) check_grid(dat.p[i], dat.q[i], ranks, place);
}

void check_range(const HplDat& dat, const std::vector<int>& values, const OptionRange& range,
                 const char* line) {
  for (const int value : values)
    if (!is_allowed(range, value))
      throw UsageError(fmt::format("{} {}: {} is not allowed; allowed: {}", dat.path, line, value,
                                   range_text<int>(range)));
}

BenchmarkOptions with(const HplRun& run, BenchmarkOptions options) {
  options.n = run.n;
  options.run.nb = run.nb;
  options.run.order = run.order;
  options.run.nprow = run.p;
  options.run.npcol = run.q;
  options.run.lookahead = std::min(run.depth, deepest_lookahead);
  options.run.broadcast = run.broadcast;
  if (!pivoted(options)) return options;
  options.leaf = run.nbmin;
  options.ndiv = run.ndiv;
  return options;
}

/// A text of all options but those of LuSetup::settle_free(). Configurations with the same text are
/// planned once.
std::string decisive(BenchmarkOptions o) {
  o.run.broadcast = {};
  o.leaf = {};
  o.ndiv = {};
  std::string text;
  for (const OptionText& option : option_texts(o)) text += option.value + '\n';
  return text;
}

int ranks_of(const BenchmarkOptions& o, const Communicator& world) {
  return o.run.nprow != 0 && o.run.npcol != 0 ? o.run.nprow * o.run.npcol : world.size();
}

}  // namespace

Representative representative(const std::vector<Measured>& all) {
  SPEEDWELL_EXPECTS(!all.empty() && !all.front().runs.empty());
  const Measured* measured = &all.front();
  const BenchmarkRun* best = &measured->runs.front();
  const auto before = [](const BenchmarkResult& a, const BenchmarkResult& b) {
    if (a.passed != b.passed) return b.passed;
    return a.passed && a.gflops > b.gflops;
  };
  for (const Measured& other : all)
    for (const BenchmarkRun& run : other.runs)
      if (before(run.result, best->result)) {
        measured = &other;
        best = &run;
      }
  return {measured->setup, *best};
}

std::span<const HplChoice> ignored_by(const BenchmarkOptions& options) {
  return pivoted(options) ? hpl_ignores() : mxp_ignores();
}

std::vector<BenchmarkOptions> configurations(const HplDat& dat, const BenchmarkOptions& base,
                                             int ranks) {
  check_grids(dat, ranks);
  if (pivoted(base)) {
    check_range(dat, dat.nbmin, range_of("nbmin"), "line 17");
    check_range(dat, dat.ndiv, range_of("ndiv"), "line 19");
  }
  BenchmarkOptions common = base;
  common.threshold = dat.threshold;
  std::vector<BenchmarkOptions> all;
  for (const HplRun& run : runs(dat, ignored_by(base))) all.push_back(with(run, common));
  return all;
}

BenchmarkOptions hpl_beside(BenchmarkOptions mxp, std::int64_t n, std::int64_t nb) {
  mxp.benchmark = Benchmark::hpl;
  mxp.n = n;
  mxp.run.nb = nb;
  return mxp;
}

Campaign::Campaign(const Communicator& world, const std::vector<BenchmarkOptions>& configurations,
                   std::int64_t most_n, const Profile& profile)
    : world_(world) {
  std::map<std::string, std::size_t> known;
  for (const BenchmarkOptions& options : configurations) {
    check_grid(options.run.nprow, options.run.npcol, world.size(), "");
    const auto [same, is_new] = known.emplace(decisive(options), setups_.size());
    ranks_.push_back(ranks_of(options, world));
    if (!is_new) {
      LuSetup setup = setups_[same->second];
      if (world.rank() < ranks_.back()) setup.settle_free(request_of(options));
      setups_.emplace_back(options, std::move(setup));
      continue;
    }
    setups_.emplace_back();
    on_first(ranks_.back(), [&](const Communicator& team) {
      const Machine machine(team.handle(), options.run);
      setups_.back() = plan(machine, options, most_n, profile);
    });
  }
}

std::vector<Setup> Campaign::setups() const {
  std::vector<Setup> all;
  for (std::size_t i = 0; i < size(); ++i)
    if (world_.rank() < ranks_[i]) all.push_back(setups_[i]);
  return all;
}

int Campaign::run(std::size_t i, int repeat, const Watching& how, const ProgressFunction& progress,
                  const RunDone& done) {
  std::optional<RunSensors> sensors;
  std::optional<BenchmarkRunner> runner;
  int passed = 0;
  for (int turn = 0; turn < repeat; ++turn) {
    BenchmarkRun run;
    RunTrace trace;
    on_first(ranks_[i], [&](const Communicator& team) {
      const ResidentMeter resident;
      if (!sensors && !setups_[i].machine.paper) sensors.emplace(team, how.monitor);
      if (!runner)
        runner.emplace(team.handle(), setups_[i], RunHooks{.meter = sensors ? &*sensors : nullptr});
      run = runner->run(progress, how.traced ? &trace : nullptr);
      if (!run.paper) run.peak = runner->peak(resident);
      if (sensors) run.sensors = sensors->take(team);
    });
    std::int64_t good = run.result.passed ? 1 : 0;
    world_.broadcast(std::span(&good, 1), 0);
    passed += static_cast<int>(good);
    on_rank_0(world_, [&] { done(setups_[i], run, turn, std::move(trace)); });
  }
  return passed;
}

void Campaign::on_first(int ranks, const std::function<void(const Communicator&)>& work) const {
  if (ranks == world_.size()) return work(world_);
  const Communicator team = world_.split(world_.rank() < ranks ? 0 : 1, world_.rank());
  const auto pause = world_.run().pause();  // the other ranks wait for all of the work
  tell_others(world_, [&] {
    if (world_.rank() < ranks) work(team);
  });
}

}  // namespace speedwell
