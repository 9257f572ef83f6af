#include "bench/campaign.hpp"

#include <fmt/format.h>
#include <lupine/error.hpp>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <tuple>

#include "comm/agreement.hpp"
#include "core/expects.hpp"

namespace lupine {

namespace {

bool pivoted(const BenchmarkOptions& options) {
  return options.benchmark == Benchmark::hpl || options.pivoting == Pivoting::partial;
}

void check_grids(const HplDat& dat, int ranks) {
  for (std::size_t i = 0; i < dat.p.size(); ++i) {
    const std::int64_t needed = std::int64_t{dat.p[i]} * dat.q[i];
    if (needed <= ranks) continue;
    const std::string place = dat.path.empty() ? "" : fmt::format("{} lines 11-12: ", dat.path);
    throw UsageError(fmt::format("{}-P {} x -Q {} is {} ranks, but {} run; allowed: at most {}",
                                 place, dat.p[i], dat.q[i], needed, ranks, ranks));
  }
}

void check_most(const HplDat& dat, const std::vector<int>& values, int most, const char* line) {
  for (const int value : values)
    if (value > most)
      throw UsageError(fmt::format("{} {}: {} is not allowed; allowed: at most {}", dat.path, line,
                                   value, most));
}

BenchmarkOptions with(const HplRun& run, BenchmarkOptions options) {
  options.n = run.n;
  options.nb = run.nb;
  options.order = run.order;
  options.rows = run.p;
  options.columns = run.q;
  options.lookahead = run.depth;
  options.broadcast = run.broadcast;
  if (!pivoted(options)) return options;
  options.leaf = run.nbmin;
  options.parts = run.ndiv;
  return options;
}

/// What memory depends on, and what is left open is chosen by.
auto shape_of(const BenchmarkOptions& o) {
  return std::tuple(o.rows, o.columns, o.n, o.nb, o.lookahead, o.chunk);
}

int ranks_of(const BenchmarkOptions& o, const Communicator& world) {
  return o.rows != 0 && o.columns != 0 ? o.rows * o.columns : world.size();
}

/// The same for options that differ in what no choice depends on.
PreparedSetup varied(const PreparedSetup& prepared, const BenchmarkOptions& options) {
  PreparedSetup result{prepared.setup, prepared.device_options, nullptr};
  BenchmarkOptions& o = result.setup.options;
  o.broadcast = options.broadcast;
  o.parts = options.parts;
  if (options.leaf != 0) o.leaf = options.leaf;
  return result;
}

/// How work ended, for ranks that had no part in it.
enum class Ending : std::int64_t { fine, usage, fault };

}  // namespace

Representative representative(const std::vector<Measured>& all) {
  LUPINE_EXPECTS(!all.empty() && !all.front().runs.empty());
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
  check_most(dat, dat.depth, largest_lookahead, "line 25");
  if (pivoted(base)) {
    check_most(dat, dat.nbmin, largest_leaf, "line 17");
    check_most(dat, dat.ndiv, largest_parts, "line 19");
  }
  BenchmarkOptions common = base;
  common.threshold = dat.threshold;
  std::vector<BenchmarkOptions> all;
  for (const HplRun& run : runs(dat, ignored_by(base))) all.push_back(with(run, common));
  return all;
}

Campaign::Campaign(const Communicator& world, const std::vector<BenchmarkOptions>& configurations,
                   std::int64_t most_n, const Profile& profile)
    : world_(world) {
  std::map<decltype(shape_of(BenchmarkOptions{})), std::size_t> known;
  const SteadyClock clock;
  for (const BenchmarkOptions& options : configurations) {
    const auto [same, is_new] = known.emplace(shape_of(options), prepared_.size());
    ranks_.push_back(ranks_of(options, world));
    LUPINE_EXPECTS(ranks_.back() <= world.size());
    if (!is_new) {
      prepared_.push_back(varied(prepared_[same->second], options));
      continue;
    }
    prepared_.emplace_back();
    on_first(ranks_.back(), [&](const Communicator& team) {
      prepared_.back() = prepare(team, options, clock, {.most_n = most_n, .profile = profile});
      prepared_.back().device.reset();
    });
  }
}

std::vector<Setup> Campaign::setups() const {
  std::vector<Setup> all;
  for (std::size_t i = 0; i < size(); ++i)
    if (world_.rank() < ranks_[i]) all.push_back(prepared_[i].setup);
  return all;
}

int Campaign::run(std::size_t i, int repeat, bool traced, const ProgressFunction& progress,
                  const RunDone& done) {
  std::optional<BenchmarkRunner> runner;
  int passed = 0;
  for (int turn = 0; turn < repeat; ++turn) {
    BenchmarkRun run;
    RunTrace trace;
    on_first(ranks_[i], [&](const Communicator& team) {
      if (!runner) runner.emplace(team.handle(), varied(prepared_[i], prepared_[i].setup.options));
      run = runner->run(progress, traced ? &trace : nullptr);
    });
    std::int64_t good = run.result.passed ? 1 : 0;
    world_.broadcast(std::span(&good, 1), 0);
    passed += static_cast<int>(good);
    on_rank_0(world_, [&] { done(prepared_[i].setup, run, turn, std::move(trace)); });
  }
  return passed;
}

// Errors of the work are the same on all ranks that do it: rank 0, one of them, speaks for them.
void Campaign::on_first(int ranks, const std::function<void(const Communicator&)>& work) const {
  if (ranks == world_.size()) return work(world_);
  const Communicator team = world_.split(world_.rank() < ranks ? 0 : 1, world_.rank());
  auto ending = Ending::fine;
  std::string words;
  try {
    if (world_.rank() < ranks) work(team);
  } catch (const UsageError& error) {
    ending = Ending::usage;
    words = error.what();
  } catch (const AgreedFault& error) {
    ending = Ending::fault;
    words = error.what();
  }
  world_.broadcast(std::span(&ending, 1), 0);
  words = text_of_rank_0(world_, std::move(words));
  if (ending == Ending::usage) throw UsageError(words);
  if (ending == Ending::fault) throw AgreedFault(words);
}

}  // namespace lupine
