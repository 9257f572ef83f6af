// SPDX-License-Identifier: BSD-3-Clause
#include "setup/plan.hpp"

#include <fmt/format.h>
#include <lupine/error.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

#include "comm/agreement.hpp"
#include "comm/interruption.hpp"
#include "core/numbers.hpp"
#include "device/device_traits.hpp"
#include "setup/defaults.hpp"
#include "setup/options_check.hpp"
#include "setup/rates.hpp"
#include "setup/update_rate.hpp"

namespace lupine {

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
  Planning(const Machine& machine, const BenchmarkOptions& options,
           const Circumstances& circumstances)
      : machine_(machine), circumstances_(circumstances), kept_(circumstances.kept) {
    setup_.asked = options;
    setup_.options = options;
    setup_.machine = machine.facts();
    setup_.notes = setup_.machine.notes;
  }

  Setup run() {
    require_equal_options(machine_.all(), setup_.asked);
    agree(machine_.all(), [&] { check_problem(setup_.asked); });
    setup_.machine.settle(setup_.options.run);
    settle_benchmark();
    setup_.budget = machine_.memory();
    choose_precision();
    identify();
    choose_place();
    choose_size();
    check_fit();
    setup_.panel_width = setup_.footprint.panel_width();
    note_what_is_odd();
    return std::move(setup_);
  }

 private:
  void settle_benchmark();
  void choose_precision();
  void identify();
  void choose_place();
  double copy_bytes(Precision precision) const;
  void choose_size();
  void choose_n();
  std::int64_t bound_by_time(std::int64_t n);
  void check_fit();
  void check_host();
  void note_what_is_odd();

  Defaults defaults(std::int64_t n) const;
  /// Block size, look-ahead and chunk: each is the user's, else the profile's, else the table's.
  Tuning tuning(std::int64_t n) const;
  void settle_tuning(std::int64_t n);
  Footprint footprint(std::int64_t n) const;
  double kept_bytes() const;
  double factor_bytes(std::int64_t n) const;
  bool fits(std::int64_t n, double bytes) const;
  std::int64_t largest_that_fits(double bytes) const;

  const Machine& machine_;
  const Circumstances& circumstances_;
  Kept kept_;
  ProfileKey key_;
  bool native_ = false;  // whether every rank's device has instructions for the update
  bool fast_ = false;    // whether a 16-bit update is much faster than FP32's
  Setup setup_;
};

void Planning::settle_benchmark() {
  BenchmarkOptions& o = setup_.options;
  if (o.memory_fraction == 0) o.memory_fraction = traits_of(o.run.device).memory_fraction;
  if (o.benchmark != Benchmark::hpl) return;
  o.precision = Precision::fp64;
  o.pivoting = Pivoting::partial;
  o.matrix = MatrixKind::hpl;
}

void Planning::choose_precision() {
  BenchmarkOptions& o = setup_.options;
  std::vector<Precision> compared;
  if (o.precision == Precision::automatic)
    compared = {Precision::bf16, Precision::fp16, Precision::fp32};
  else if (const DeviceTraits& device = traits_of(o.run.device);
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
    o.precision = rates.fastest();
    setup_.reasons.precision = rates.text(o.precision);
  }
  fast_ = rates.of(o.precision) >= fast_ratio * rates.of(Precision::fp32);
}

// Sets the values by which the table and the profile are searched.
void Planning::identify() {
  const BenchmarkOptions& o = setup_.options;
  native_ = machine_.native(o.precision);
  key_ = profile_key(setup_);
}

Defaults Planning::defaults(std::int64_t n) const {
  const BenchmarkOptions& o = setup_.options;
  return defaults_for({n, o.precision, o.run.device, fast_, machine_.facts().shape()});
}

Tuning Planning::tuning(std::int64_t n) const {
  const BenchmarkOptions& o = setup_.options;
  const ProfileEntry* known = circumstances_.profile.find(key_, n);
  Tuning t = known ? known->tuning : defaults(n).tuning;
  if (o.run.nb != 0) t.nb = o.run.nb;
  if (o.run.lookahead >= 0) t.lookahead = o.run.lookahead;
  if (o.run.chunk != 0) t.chunk = o.run.chunk;
  return t;
}

// Runs before a chosen n is rounded to a multiple of nb, since it chooses nb.
void Planning::settle_tuning(std::int64_t n) {
  BenchmarkOptions& o = setup_.options;
  const Tuning t = tuning(n);
  const Defaults table = defaults(n);
  const ProfileEntry* known = circumstances_.profile.find(key_, n);
  const std::string by_table = fmt::format("table ({})", table.row);
  const std::string source =
      known ? fmt::format("profile ({} at N = {})", known->date, known->n) : by_table;
  if (o.run.nb == 0)
    setup_.reasons.nb =
        source + (!known && table.cut ? ", cut to leave blocks for every rank" : "");
  if (o.run.lookahead < 0) setup_.reasons.lookahead = source;
  if (o.run.chunk == 0) setup_.reasons.chunk = source;
  o.run.nb = o.run.nb != 0 ? o.run.nb : std::min(t.nb, n);
  o.run.lookahead = t.lookahead;
  o.run.chunk = t.chunk == 0 ? n : std::min(t.chunk, n);
  if (o.pivoting == Pivoting::none || o.leaf != 0) return;
  o.leaf = table.leaf;
  setup_.reasons.leaf = by_table;
}

Footprint Planning::footprint(std::int64_t n) const {
  const BenchmarkOptions& o = setup_.options;
  const Tuning t = tuning(n);
  Footprint f;
  f.n = n;
  f.nb = std::min(t.nb, n);
  f.shape = machine_.facts().shape();
  f.precision = o.precision;
  f.pivoting = o.pivoting;
  f.lookahead = t.lookahead;
  f.chunk = t.chunk;
  f.device = o.run.device;
  f.native = native_;
  f.fp64 = o.run.fp64;
  f.staged = o.run.comm == CommMethod::staged;
  f.held = kept_bytes();
  return f;
}

double Planning::kept_bytes() const {
  const bool copied =
      kept_ == Kept::copy || (kept_ == Kept::in_place && !machine_.device().shares_host_memory());
  return copied ? sizeof(double) : 0;
}

// Bytes of a rank's factors and copy of A: a lower bound of the footprint, which holds even for an
// n so large that the footprint's index arithmetic would overflow.
double Planning::factor_bytes(std::int64_t n) const {
  const auto bytes = static_cast<double>(bytes_of(storage_for(setup_.options.precision)));
  return (bytes + kept_bytes()) * static_cast<double>(n) * static_cast<double>(n) /
         machine_.all().size();
}

bool Planning::fits(std::int64_t n, double bytes) const {
  return factor_bytes(n) <= bytes && footprint(n).rank_bytes() <= bytes;
}

std::int64_t Planning::largest_that_fits(double bytes) const {
  return largest_n([&](std::int64_t n) { return fits(n, bytes); });
}

// Bytes of a rank with a copy of A and factors in this precision.
double Planning::copy_bytes(Precision precision) const {
  Footprint f = footprint(setup_.options.n);
  f.precision = precision;
  f.held = sizeof(double);
  return f.rank_bytes();
}

// Chooses between an A in place, in its own blocks, and a copy of it in the blocks that the user or
// the table wants. A block size near the table's is as good.
void Planning::choose_place() {
  BenchmarkOptions& o = setup_.options;
  const double free = setup_.budget.rank_free;
  if (circumstances_.nb_in_place == 0 || factor_bytes(o.n) > free) return;
  const std::int64_t own = std::min(circumstances_.nb_in_place, o.n);
  const std::int64_t wanted = std::min(tuning(o.n).nb, o.n);
  if (own == wanted) return;
  const bool given = o.run.nb != 0;
  const bool fixed = kept_ == Kept::on_device;
  if (given && fixed)
    throw UsageError(
        fmt::format("NB = {} is not possible: A is in GPUs' memory, where it is not redistributed; "
                    "allowed is NB = {}, the blocks in which it is distributed",
                    o.run.nb, own));
  if (!fixed && (given || 2 * own < wanted)) {
    const Precision last = circumstances_.last;
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
                      o.run.nb, why, own));
    setup_.notes.push_back(fmt::format("A stays in blocks of {}, which are slow: {}", own, why));
  }
  o.run.nb = own;
  setup_.reasons.nb = "the blocks of A";
}

void Planning::choose_size() {
  BenchmarkOptions& o = setup_.options;
  const bool given = o.n != 0;
  if (!given)
    choose_n();
  else if (o.time_target > 0)
    setup_.notes.push_back("--time-target was not used, since N was given");
  // All ranks take rank 0's n: ranks on unlike nodes could have computed different ones.
  machine_.all().broadcast(std::span(&o.n, 1), 0);
  settle_tuning(o.n);
  if (!given && o.n != circumstances_.most_n) o.n = round_to_blocks(o.n, o.run.nb);
}

void Planning::choose_n() {
  BenchmarkOptions& o = setup_.options;
  const double allowed = o.memory_fraction * setup_.budget.rank_free;
  o.n = largest_that_fits(allowed);
  if (o.n == 0)
    throw NotEnoughMemory(
        fmt::format("no problem fits: {} of the memory that is free for a rank on {} are {}; "
                    "allowed is a larger --memory-fraction or memory",
                    o.memory_fraction, setup_.budget.host, gibibytes(allowed)));
  setup_.reasons.n =
      fmt::format("the largest in {:g} % of the free memory", 100 * o.memory_fraction);
  if (const std::int64_t most = circumstances_.most_n; most > 0 && most <= o.n) {
    o.n = most;
    setup_.reasons.n = "no larger than the other benchmark's";
  }
  if (o.time_target > 0) o.n = bound_by_time(o.n);
}

std::int64_t Planning::bound_by_time(std::int64_t n) {
  const BenchmarkOptions& o = setup_.options;
  machine_.all().barrier();
  const double mine = agreed(machine_.all(), [&] {
    return update_rate(machine_.device(), o.precision, footprint(n).panel_width(), trial_seconds,
                       machine_.clock());
  });
  stop_if_interrupted(machine_.all(), machine_.device().interrupt());
  const double rate = machine_.all().size() * machine_.all().all_reduce(mine, Reduction::min);
  const double efficiency = typical_efficiency(o.pivoting);
  const std::int64_t bound = largest_n_in_time(o.time_target, efficiency * rate);
  if (bound < n)
    setup_.reasons.n = fmt::format("for about {:g} s at {:.3g} of {:.0f} GFLOP/s measured",
                                   o.time_target, efficiency, rate / 1e9);
  return std::min(n, bound);
}

void Planning::check_fit() {
  const BenchmarkOptions& o = setup_.options;
  const MemoryBudget& budget = setup_.budget;
  if (fits(o.n, budget.rank_free)) {
    setup_.footprint = footprint(o.n);
    setup_.footprint.free = o.memory_fraction * budget.rank_free;
    check_host();
    return;
  }
  const double least = factor_bytes(o.n);
  const double needed = least <= budget.rank_free ? footprint(o.n).rank_bytes() : least;
  const std::int64_t most = largest_that_fits(budget.rank_free);
  throw NotEnoughMemory(fmt::format(
      "{} {} does not fit: it needs {} a rank ({} for {} ranks on {}), free are {} ({} there); "
      "{}",
      circumstances_.size, o.n, gibibytes(needed), gibibytes(needed * budget.sharing),
      budget.sharing, where(budget), gibibytes(budget.rank_free), gibibytes(budget.shared_free),
      most > 0 ? fmt::format("allowed is at most {} {}", circumstances_.size, most)
               : fmt::format("no {} fits there", circumstances_.size)));
}

// A rank on a GPU takes host memory too: for vectors, and for panels that travel through it.
void Planning::check_host() {
  if (machine_.device().shares_host_memory()) return;
  const MemoryBudget host = tightest_host_budget(machine_.all());
  const double needed = setup_.footprint.host_bytes();
  if (needed > host.rank_free)
    throw NotEnoughMemory(fmt::format(
        "{} {} does not fit: {} need {} a rank in the memory of {}, free are {} "
        "for each of its {} ranks; allowed is a smaller {} or --nb, or another --comm",
        circumstances_.size, setup_.options.n,
        kept_bytes() > 0 ? "panels, vectors and pieces of A on their way" : "panels and vectors",
        gibibytes(needed), host.host, gibibytes(host.rank_free), host.sharing,
        circumstances_.size));
}

void Planning::note_what_is_odd() {
  const BenchmarkOptions& o = setup_.options;
  if (o.run.nb > o.n)
    setup_.notes.push_back(fmt::format("NB = {} is more than N = {}: one block", o.run.nb, o.n));
  if (setup_.panel_width < setup_.footprint.nb)
    setup_.notes.push_back(fmt::format("panels of {} columns: {} would take too much memory",
                                       setup_.panel_width, setup_.footprint.nb));
  const std::int64_t blocks = ceil_div(o.n, setup_.footprint.nb);
  if (blocks < std::max(o.run.nprow, o.run.npcol))
    setup_.notes.push_back(
        fmt::format("{0} x {0} blocks on a grid of {1} x {2}: some ranks have "
                    "nothing to do",
                    blocks, o.run.nprow, o.run.npcol));
}

}  // namespace

ProfileKey profile_key(const Setup& setup) {
  const BenchmarkOptions& o = setup.options;
  return {setup.machine.device, o.benchmark, o.precision, o.pivoting, o.run.nprow, o.run.npcol};
}

FactorOptions factor_options(const Setup& setup) {
  const BenchmarkOptions& o = setup.options;
  return {.precision = o.precision,
          .width = setup.panel_width,
          .lookahead = o.run.lookahead,
          .broadcast = o.run.broadcast,
          .pivoting = o.pivoting,
          .recursion = {.leaf = std::max(1, o.leaf), .parts = o.parts},
          .chunk = o.run.chunk};
}

Setup plan(const Machine& machine, const BenchmarkOptions& options,
           const Circumstances& circumstances) {
  return Planning(machine, options, circumstances).run();
}

}  // namespace lupine
