// SPDX-License-Identifier: BSD-3-Clause
#include "setup/plan.hpp"

#include <fmt/format.h>
#include <speedwell/error.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

#include "comm/agreement.hpp"
#include "core/counted.hpp"
#include "core/numbers.hpp"
#include "core/scalar.hpp"
#include "device/device_traits.hpp"
#include "setup/defaults.hpp"
#include "setup/footprint.hpp"
#include "setup/options_check.hpp"
#include "setup/product_trial.hpp"
#include "setup/rates.hpp"

namespace speedwell {

namespace {

constexpr double trial_seconds = 1;
// From this ratio of a 16-bit update's rate to FP32's, panels and chunks are those of fast updates.
constexpr double fast_ratio = 1.5;

// "host", or "GPU 0 of host".
std::string where(const MemoryBudget& budget) {
  return budget.on_device ? fmt::format("{} of {}", budget.bound, budget.host) : budget.host;
}

class Planning {
 public:
  Planning(const Machine& machine, const LuRequest& request)
      : machine_(machine), asked_(request), kept_(request.kept) {
    setup_.machine = machine.facts();
    setup_.notes = setup_.machine.notes;
    RunOptions& run = setup_.run = request.run;
    setup_.machine.settle(run);
    setup_.memory_fraction = request.memory_fraction > 0 ? request.memory_fraction
                                                         : traits_of(run.device).memory_fraction;
    setup_.lu = {.n = request.n,
                 .grid = setup_.machine.shape(),
                 .device = run.device,
                 .precision = request.precision,
                 .field = request.field,
                 .pivoting = request.pivoting,
                 .fp64 = run.fp64,
                 .narrow = request.narrow,
                 .overlaps = machine.device().overlaps(),
                 .staged = run.comm == CommMethod::staged};
  }

  LuSetup run() {
    setup_.budget = machine_.memory();
    choose_precision();
    setup_.lu.native = machine_.native(setup_.lu.precision);
    choose_place();
    choose_size();
    check_fit();
    setup_.settle_free(asked_);
    note_what_is_odd();
    return std::move(setup_);
  }

 private:
  void choose_precision();
  void choose_place();
  double copy_bytes(Precision precision) const;
  void choose_size();
  void choose_n();
  double update_rate(std::int64_t width) const;
  std::int64_t bound_by_time(std::int64_t n);
  void check_fit();
  void check_host();
  void note_what_is_odd();

  Defaults defaults(std::int64_t n) const;
  /// Block size, look-ahead and chunk: each is the user's, else the profile's, else the table's.
  Tuning tuning(std::int64_t n) const;
  void settle_tuning(std::int64_t n);
  LuPlan lu(std::int64_t n) const;
  std::int64_t kept_bytes() const;
  double factor_bytes(std::int64_t n) const;
  bool fits(std::int64_t n, double bytes) const;
  std::int64_t largest_that_fits(double bytes) const;

  const Machine& machine_;
  const LuRequest& asked_;
  Kept kept_;
  LuSetup setup_;
};

void Planning::choose_precision() {
  LuPlan& o = setup_.lu;
  std::vector<Precision> compared;
  if (o.precision == Precision::automatic)
    compared = {Precision::bf16, Precision::fp16, Precision::fp32};
  else if (const DeviceTraits& device = traits_of(o.device);
           bytes_of(o.precision) == 2 && device.fast_low != device.other_low)
    compared = {o.precision, Precision::fp32};
  else
    return;
  // An n that is not chosen yet will be about as large as memory allows.
  const double elements =
      setup_.budget.rank_free * machine_.all().size() / bytes_of(Precision::fp32);
  const auto largest = static_cast<std::int64_t>(std::sqrt(elements));
  const bool too_large = o.n > largest;  // refused below: nothing is measured for it
  const std::int64_t order = o.n == 0 ? largest : too_large ? 1 : o.n;
  const Rates rates = update_rates(machine_, compared, order);
  if (o.precision == Precision::automatic) {
    o.precision = rates.fastest_benchmark(o.device, order);
    setup_.reasons.precision = rates.text(o.precision);
  }
  setup_.fast = rates.of(o.precision) >= fast_ratio * rates.of(Precision::fp32);
}

Defaults Planning::defaults(std::int64_t n) const {
  LuPlan of = setup_.lu;
  of.n = n;
  return defaults_for(of, setup_.fast, setup_.machine.run.threads);
}

Tuning Planning::tuning(std::int64_t n) const {
  const RunOptions& run = setup_.run;
  const ProfileEntry* known = asked_.profile.find(profile_key(setup_), n);
  Tuning t = known ? known->tuning : defaults(n).tuning;
  if (run.nb != 0) t.nb = run.nb;
  if (run.lookahead >= 0) t.lookahead = run.lookahead;
  if (run.chunk != 0) t.chunk = run.chunk;
  return t;
}

// Runs before a chosen n is rounded to a multiple of nb, since it chooses nb.
void Planning::settle_tuning(std::int64_t n) {
  RunOptions& run = setup_.run;
  const Tuning t = tuning(n);
  const Defaults table = defaults(n);
  const ProfileEntry* known = asked_.profile.find(profile_key(setup_), n);
  const std::string source =
      known ? fmt::format("profile ({} at N = {})", known->date, known->n) : table.source();
  if (run.nb == 0)
    setup_.reasons.nb =
        source + (!known && table.cut ? ", cut to leave blocks for every rank" : "");
  if (run.lookahead < 0) setup_.reasons.lookahead = source;
  if (run.chunk == 0) setup_.reasons.chunk = source;
  run.nb = run.nb != 0 ? run.nb : std::min(t.nb, n);
  run.lookahead = t.lookahead;
  run.chunk = t.chunk == 0 ? n : std::min(t.chunk, n);
}

// The plan for this order, with panels as wide as their share of the memory allows.
LuPlan Planning::lu(std::int64_t n) const {
  LuPlan lu = setup_.lu;
  lu.n = n;
  lu.held = kept_bytes();
  lu.certified = asked_.certified;
  return tuned(lu, tuning(n));
}

std::int64_t Planning::kept_bytes() const {
  const bool copied =
      kept_ == Kept::copy || (kept_ == Kept::in_place && !machine_.device().shares_host_memory());
  return copied ? std::int64_t{sizeof(double)} * setup_.lu.parts() : 0;
}

// Bytes of a rank's factors and copy of A: a lower bound of the footprint, which holds even for an
// n so large that the footprint's index arithmetic would overflow.
double Planning::factor_bytes(std::int64_t n) const {
  const std::int64_t bytes = setup_.lu.element() + kept_bytes();
  return static_cast<double>(bytes) * static_cast<double>(n) * static_cast<double>(n) /
         machine_.all().size();
}

bool Planning::fits(std::int64_t n, double bytes) const {
  return factor_bytes(n) <= bytes && rank_bytes(lu(n)) <= bytes;
}

std::int64_t Planning::largest_that_fits(double bytes) const {
  return largest_n([&](std::int64_t n) { return fits(n, bytes); });
}

// Bytes of a rank with a copy of A and factors in this precision.
double Planning::copy_bytes(Precision precision) const {
  LuPlan with = lu(setup_.lu.n);
  with.precision = precision;
  with.held = with.parts() * std::int64_t{sizeof(double)};
  with.width = panel_width(with);
  return rank_bytes(with);
}

// Chooses between an A in place, in its own blocks, and a copy of it in the blocks that the user or
// the table wants. A block size near the table's is as good.
void Planning::choose_place() {
  LuPlan& o = setup_.lu;
  const double free = setup_.budget.rank_free;
  if (asked_.nb_in_place == 0 || factor_bytes(o.n) > free) return;
  const std::int64_t own = std::min(asked_.nb_in_place, o.n);
  const std::int64_t wanted = std::min(tuning(o.n).nb, o.n);
  if (own == wanted) return;
  const bool given = setup_.run.nb != 0;
  const bool fixed = kept_ == Kept::on_device;
  if (given && fixed)
    throw UsageError(
        fmt::format("NB = {} is not possible: A is in GPUs' memory, where it is not redistributed; "
                    "allowed is NB = {}, the blocks in which it is distributed",
                    setup_.run.nb, own));
  if (!fixed && (given || 2 * own < wanted)) {
    const Precision last = asked_.last;
    const double needed = copy_bytes(given || last == Precision::automatic ? o.precision : last);
    if (needed <= free) {
      kept_ = Kept::copy;
      return;
    }
    const std::string why =
        fmt::format("with a copy of A in blocks of {}, a rank on {} needs {}, free are {}", wanted,
                    where(setup_.budget), gibibytes(needed), gibibytes(free));
    if (given)
      throw NotEnoughMemory(
          fmt::format("NB = {} is not possible: {}; allowed is NB = {}, the blocks in "
                      "which A is distributed",
                      setup_.run.nb, why, own));
    setup_.notes.push_back(fmt::format("A stays in blocks of {}, which are slow: {}", own, why));
  }
  setup_.run.nb = own;
  setup_.reasons.nb = "the blocks of A";
}

void Planning::choose_size() {
  LuPlan& o = setup_.lu;
  const bool given = o.n != 0;
  if (!given)
    choose_n();
  else if (asked_.time_target > 0)
    setup_.notes.push_back("--time-target was not used, since N was given");
  // All ranks take rank 0's n: ranks on unlike nodes could have computed different ones.
  machine_.all().broadcast(std::span(&o.n, 1), 0);
  settle_tuning(o.n);
  if (!given && o.n != asked_.most_n) o.n = round_to_blocks(o.n, setup_.run.nb);
}

void Planning::choose_n() {
  LuPlan& o = setup_.lu;
  const double allowed = setup_.memory_fraction * setup_.budget.rank_free;
  o.n = largest_that_fits(allowed);
  if (o.n == 0)
    throw NotEnoughMemory(
        fmt::format("no problem fits: {} of the memory that is free for a rank on {} are {}; "
                    "allowed is a larger --memory-fraction or memory",
                    setup_.memory_fraction, setup_.budget.host, gibibytes(allowed)));
  setup_.reasons.n =
      fmt::format("the largest in {:g} % of the free memory", 100 * setup_.memory_fraction);
  if (const std::int64_t most = asked_.most_n; most > 0 && most <= o.n) {
    o.n = most;
    setup_.reasons.n = "no larger than the other benchmark's";
  }
  if (asked_.time_target > 0) o.n = bound_by_time(o.n);
}

// Flop/s of this rank's updates from panels of this width. A fast device needs a large product to
// show its rate; a slow one spends its time at the first.
double Planning::update_rate(std::int64_t width) const {
  const Clock& clock = machine_.run().clock();
  const double end = clock.now() + trial_seconds;
  const std::int64_t largest = machine_.device().shares_host_memory() ? 4096 : 16384;
  double best = 0;
  for (std::int64_t size = 1024; size <= largest && clock.now() < end; size *= 2) {
    ProductTrial trial(machine_.device(), Product::update, setup_.lu.precision, size, size, width);
    best = std::max(best, trial.rate(clock, size == largest ? end - clock.now() : 0));
  }
  return best;
}

std::int64_t Planning::bound_by_time(std::int64_t n) {
  const LuPlan& o = setup_.lu;
  machine_.all().barrier();
  const double mine = agreed(machine_.all(), [&] { return update_rate(lu(n).width); });
  const double rate = machine_.all().size() * machine_.all().all_reduce(mine, Reduction::min);
  const double efficiency = typical_efficiency(o.pivoting);
  const std::int64_t bound = largest_n_in_time(asked_.time_target, efficiency * rate);
  if (bound < n)
    setup_.reasons.n = fmt::format("for about {:g} s at {:.3g} of {:.0f} GFLOP/s measured",
                                   asked_.time_target, efficiency, rate / 1e9);
  return std::min(n, bound);
}

void Planning::check_fit() {
  const LuPlan& o = setup_.lu;
  const MemoryBudget& budget = setup_.budget;
  if (fits(o.n, budget.rank_free)) {
    setup_.lu = lu(o.n);
    setup_.lu.width = panel_width(setup_.lu, setup_.memory_fraction * budget.rank_free);
    check_host();
    return;
  }
  const double least = factor_bytes(o.n);
  const double needed = least <= budget.rank_free ? rank_bytes(lu(o.n)) : least;
  const std::int64_t most = largest_that_fits(budget.rank_free);
  throw NotEnoughMemory(fmt::format(
      "{} {} does not fit: it needs {} a rank ({} for {} on {}), free are {} ({} there); "
      "{}",
      asked_.size, o.n, gibibytes(needed), gibibytes(needed * budget.sharing),
      counted(budget.sharing, "rank"), where(budget), gibibytes(budget.rank_free),
      gibibytes(budget.shared_free),
      most > 0 ? fmt::format("allowed is at most {} {}", asked_.size, most)
               : fmt::format("no {} fits there", asked_.size)));
}

// A rank on a GPU takes host memory too: for vectors, and for panels that travel through it.
void Planning::check_host() {
  if (machine_.device().shares_host_memory()) return;
  const MemoryBudget host = tightest_host_budget(machine_.all());
  const double needed = host_bytes(setup_.lu);
  if (needed > host.rank_free)
    throw NotEnoughMemory(fmt::format(
        "{} {} does not fit: {} need {} a rank in the memory of {}, free are {} "
        "for each of its {} ranks; allowed is a smaller {} or --nb, or another --comm",
        asked_.size, setup_.lu.n,
        kept_bytes() > 0 ? "panels, vectors and pieces of A on their way" : "panels and vectors",
        gibibytes(needed), host.host, gibibytes(host.rank_free), host.sharing, asked_.size));
}

void Planning::note_what_is_odd() {
  const LuPlan& o = setup_.lu;
  if (setup_.run.nb > o.n)
    setup_.notes.push_back(
        fmt::format("NB = {} is more than N = {}: one block", setup_.run.nb, o.n));
  if (o.width < o.nb)
    setup_.notes.push_back(
        fmt::format("panels of {} columns: {} would take too much memory", o.width, o.nb));
  const std::int64_t blocks = ceil_div(o.n, o.nb);
  if (blocks < std::max(o.grid.nprow, o.grid.npcol))
    setup_.notes.push_back(
        fmt::format("{0} x {0} blocks on a grid of {1} x {2}: some ranks have "
                    "nothing to do",
                    blocks, o.grid.nprow, o.grid.npcol));
}

}  // namespace

ProfileKey profile_key(const LuSetup& setup) {
  const LuPlan& lu = setup.lu;
  const Benchmark benchmark = lu.precision == Precision::fp64 ? Benchmark::hpl : Benchmark::mxp;
  return {setup.machine.device, benchmark, lu.precision, lu.pivoting, lu.grid.nprow, lu.grid.npcol};
}

void LuSetup::settle_free(const LuRequest& request) {
  run.broadcast = lu.broadcast = request.run.broadcast;
  lu.ndiv = request.ndiv;
  const Defaults table = defaults_for(lu, fast, machine.run.threads);
  const bool open = lu.pivoting != Pivoting::none && request.leaf == 0;
  lu.leaf = open ? table.leaf : request.leaf;
  reasons.leaf = open ? table.source() : "";
}

LuSetup plan(const Machine& machine, const LuRequest& request) {
  return Planning(machine, request).run();
}

Setup::Setup(const BenchmarkOptions& given, LuSetup settled)
    : LuSetup(std::move(settled)), asked(given), options(given) {
  options.run = run;
  options.n = lu.n;
  options.precision = lu.precision;
  options.pivoting = lu.pivoting;
  options.leaf = lu.leaf;
  options.memory_fraction = memory_fraction;
  if (options.benchmark == Benchmark::hpl) options.matrix = MatrixKind::hpl;
}

LuRequest request_of(const BenchmarkOptions& o) {
  const bool hpl = o.benchmark == Benchmark::hpl;
  return {.run = o.run,
          .n = o.n,
          .precision = hpl ? Precision::fp64 : o.precision,
          .pivoting = hpl ? Pivoting::partial : o.pivoting,
          .leaf = o.leaf,
          .ndiv = o.ndiv,
          .memory_fraction = o.memory_fraction,
          .time_target = o.time_target};
}

Setup plan(const Machine& machine, const BenchmarkOptions& options, std::int64_t most_n,
           const Profile& profile) {
  require_equal_options(machine.all(), options);
  agree(machine.all(), [&] { check_problem(options); });
  LuRequest request = request_of(options);
  request.most_n = most_n;
  request.profile = profile;
  return {options, plan(machine, request)};
}

}  // namespace speedwell
