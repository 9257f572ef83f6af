#include "setup/setup.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "comm/agreement.hpp"
#include "device/cpu/processor.hpp"
#include "device/device_traits.hpp"
#include "setup/defaults.hpp"
#include "setup/placement.hpp"
#include "setup/update_rate.hpp"

namespace lupine {

namespace {

constexpr double trial_seconds = 1;

// "host", or "GPU 0 of host".
std::string where(const MemoryBudget& budget) {
  return budget.on_device ? fmt::format("{} of {}", budget.bound, budget.host) : budget.host;
}

class Preparation {
 public:
  Preparation(const Communicator& all, const BenchmarkOptions& options, const Clock& clock,
              const Circumstances& circumstances)
      : all_(all), clock_(clock), circumstances_(circumstances) {
    setup_.options = options;
  }

  PreparedSetup run() {
    check_equal_options();
    settle_benchmark();
    agree(all_, [&] { check_options(setup_.options, all_.size()); });
    setup_.hosts = all_.all_gather(host_name());
    choose_grid();
    const int threads = choose_threads();
    choose_device(threads);
    choose_connections();
    choose_precision();
    identify();
    setup_.budget = tightest_budget(all_, *device_);
    choose_size();
    check_fit();
    setup_.panel_width = setup_.footprint.panel_width();
    note_what_is_odd();
    return {std::move(setup_), device_options_, std::move(device_)};
  }

 private:
  void check_equal_options();
  void settle_benchmark();
  void choose_grid();
  int choose_threads();
  void note_binding(const ProcessorInfo& processor, int threads, int node_ranks, int sharing);
  void choose_device(int threads);
  std::string why_not_gpus(int gpus) const;
  std::vector<PeerSupport> peer_support() const;
  void choose_connections();
  void choose_precision();
  void identify();
  void choose_size();
  void choose_n();
  std::int64_t bound_by_time(std::int64_t n);
  void check_fit();
  void check_host();
  void note_what_is_odd();

  GridShape shape() const {
    return {setup_.options.rows, setup_.options.columns, setup_.options.order};
  }
  Defaults defaults(std::int64_t n) const;
  /// Of each value: what was given, else the profile's, else the table's.
  Tuning tuning(std::int64_t n) const;
  void settle_tuning(std::int64_t n);
  Footprint footprint(std::int64_t n) const;
  double kept_bytes() const;
  double factor_bytes(std::int64_t n) const;
  bool fits(std::int64_t n, double bytes) const;
  std::int64_t largest_that_fits(double bytes) const;

  const Communicator& all_;
  const Clock& clock_;
  const Circumstances& circumstances_;
  ProfileKey key_;
  bool native_ = false;  // on every rank
  Setup setup_;
  DeviceOptions device_options_;
  std::unique_ptr<Device> device_;
};

void Preparation::check_equal_options() {
  const BenchmarkOptions& o = setup_.options;
  require_equal_options(
      all_,
      fmt::format(
          "{} -N {} --nb {} -P {} -Q {} --nporder {} --precision {} --pivot {} --nbmin {} --ndiv "
          "{} "
          "--matrix {} --kappa {} --rho {} --seed {} --refine {} --max-iterations {} "
          "--threshold {} --lookahead {} --chunk {} --bcast {} --device {} --comm {} --gpus {} "
          "--reserve {} "
          "--threads {} --memory-fraction {} --time-target {} --stall-timeout {}",
          name(o.benchmark), o.n, o.nb, o.rows, o.columns, name(o.order), name(o.precision),
          name(o.pivoting), o.leaf, o.parts, name(o.matrix), o.kappa, o.rho, o.seed, name(o.refine),
          o.max_iterations, o.threshold, o.lookahead, o.chunk, name(o.broadcast), name(o.device),
          name(o.comm), fmt::join(o.gpus, ","), o.reserved, o.threads, o.memory_fraction,
          o.time_target, o.stall_timeout));
}

void Preparation::settle_benchmark() {
  BenchmarkOptions& o = setup_.options;
  if (o.benchmark != Benchmark::hpl) return;
  o.precision = Precision::fp64;
  o.pivoting = Pivoting::partial;
  o.matrix = MatrixKind::hpl;
}

void Preparation::choose_grid() {
  BenchmarkOptions& o = setup_.options;
  if (o.rows != 0 && o.columns != 0) return;
  if (o.rows == 0 && o.columns == 0) {
    const GridShape grid = squarest(all_.size(), o.order);
    o.rows = grid.rows;
    o.columns = grid.columns;
    setup_.reasons.grid = fmt::format("the squarest grid of {} ranks", all_.size());
  } else {
    setup_.reasons.grid = fmt::format("all {} ranks", all_.size());
    (o.rows == 0 ? o.rows : o.columns) = all_.size() / (o.rows + o.columns);
  }
}

int Preparation::choose_threads() {
  const ProcessorInfo processor = agreed(all_, [] { return processor_info(); });
  const std::string mine = core_binding();
  const std::vector<std::string> bindings = all_.split_node().all_gather(mine);
  const auto sharing = static_cast<int>(
      std::count_if(bindings.begin(), bindings.end(),
                    [&](const std::string& other) { return bindings_overlap(mine, other); }));
  if (setup_.options.threads == 0)
    setup_.reasons.threads = "each rank's share of the cores it may use";
  const int threads = setup_.options.threads != 0
                          ? setup_.options.threads
                          : std::max(1, processor.bound_cores / std::max(1, sharing));
  note_binding(processor, threads, static_cast<int>(bindings.size()), sharing);
  setup_.options.threads = static_cast<int>(all_.all_reduce(std::int64_t{threads}, Reduction::min));
  setup_.most_threads = static_cast<int>(all_.all_reduce(std::int64_t{threads}, Reduction::max));
  return threads;
}

void Preparation::note_binding(const ProcessorInfo& processor, int threads, int node_ranks,
                               int sharing) {
  std::string problem;
  if (threads > processor.bound_cores)
    problem = fmt::format(
        "{} threads, but bound to {} of {} cores (mpirun --bind-to none lets "
        "ranks use all)",
        threads, processor.bound_cores, processor.cores);
  else if (threads * std::max(1, sharing) > processor.bound_cores)
    problem = fmt::format("{} ranks of {} threads each share {} cores", sharing, threads,
                          processor.bound_cores);
  else if (processor.bound_cores < processor.cores / node_ranks)
    problem = fmt::format(
        "bound to {} of {} cores, fewer than its share (mpirun --bind-to none "
        "lets ranks use all)",
        processor.bound_cores, processor.cores);
  std::map<std::string, std::vector<std::size_t>> ranks;
  const std::vector<std::string> problems = all_.all_gather(problem);
  for (std::size_t r = 0; r < problems.size(); ++r)
    if (!problems[r].empty()) ranks[problems[r]].push_back(r);
  for (const auto& [words, which] : ranks)
    setup_.notes.push_back(
        which.size() == 1
            ? fmt::format("rank {} on {}: {}", which[0], setup_.hosts[which[0]], words)
            : fmt::format("rank {} on {} and {} more: {}", which[0], setup_.hosts[which[0]],
                          which.size() - 1, words));
}

// Of the first rank that sees none.
std::string Preparation::why_not_gpus(int gpus) const {
  const std::vector<std::string> reasons = all_.all_gather(gpus > 0 ? "" : why_no_gpus());
  const auto first = std::find_if(reasons.begin(), reasons.end(),
                                  [](const std::string& reason) { return !reason.empty(); });
  if (std::find(reasons.begin(), reasons.end(), "") == reasons.end()) return *first;
  const auto rank = static_cast<std::size_t>(first - reasons.begin());
  return fmt::format("rank {} on {} sees no GPU: {}", rank, setup_.hosts[rank], *first);
}

// GPUs where every rank sees one, unless the user says otherwise; one after the other on each node.
void Preparation::choose_device(int threads) {
  BenchmarkOptions& o = setup_.options;
  const int gpus = o.device == DeviceKind::cpu ? 0 : count_gpus();
  if (o.device == DeviceKind::automatic) {
    const bool everywhere = all_.all_reduce(std::int64_t{gpus}, Reduction::min) > 0;
    o.device = everywhere ? DeviceKind::cuda : DeviceKind::cpu;
    setup_.reasons.device = everywhere ? "every rank sees a GPU" : why_not_gpus(gpus);
  }
  const bool cuda = o.device == DeviceKind::cuda;
  if (!cuda && (!o.gpus.empty() || o.reserved >= 0))
    agree(all_, [] { throw UsageError("--gpus and --reserve are allowed only with GPUs"); });
  const int node_rank = all_.split_node().rank();
  device_ = agreed(all_, [&] {
    if (cuda && gpus == 0)
      throw UsageError(
          fmt::format("--device cuda is not allowed: {}; allowed: cpu", why_no_gpus()));
    device_options_ = {.kind = o.device,
                       .threads = threads,
                       .gpu = cuda ? gpu_of(node_rank, gpus, o.gpus) : 0,
                       .reserved = o.reserved};
    return make_device(device_options_);
  });
  setup_.device = all_.all_gather(device_->description()).front();
  if (o.memory_fraction == 0) o.memory_fraction = traits_of(o.device).memory_fraction;
}

// Of every rank.
std::vector<PeerSupport> Preparation::peer_support() const {
  const PeerSupport mine = agreed(all_, [this] { return device_->peer_support(); });
  const std::vector<std::string> libraries = all_.all_gather(mine.library);
  const std::vector<std::string> reasons = all_.all_gather(mine.why_none);
  std::vector<PeerSupport> all;
  for (std::size_t r = 0; r < reasons.size(); ++r) all.push_back({libraries[r], reasons[r]});
  return all;
}

// Whatever chooses how ranks meet is the same on all: one that went another way would be waited
// for.
void Preparation::choose_connections() {
  Connections c;
  const auto everywhere = [this](bool mine) {
    return all_.all_reduce(std::int64_t{mine}, Reduction::min) != 0;
  };
  c.host_memory = everywhere(device_->shares_host_memory());
  if (!c.host_memory) {
    const auto memory = agreed(all_, [this] { return *device_->memory(); });
    std::vector<std::string> ids = all_.all_gather(memory.identity);
    setup_.gpus = all_.all_gather(memory.name);
    std::sort(ids.begin(), ids.end());
    c.own_devices = std::adjacent_find(ids.begin(), ids.end()) == ids.end();
    c.mpi_takes_device = everywhere(mpi_takes_device_memory());
    c.why_no_peers = why_no_peers(peer_support(), setup_.hosts);
  }
  const CommChoice choice = agreed(all_, [&] { return choose_comm(setup_.options.comm, c); });
  setup_.options.comm = choice.method;
  setup_.reasons.comm = choice.reason;
}

// BF16 only where it is the fastest on every rank: the panels must be of one kind.
void Preparation::choose_precision() {
  BenchmarkOptions& o = setup_.options;
  if (o.precision == Precision::automatic) {
    const bool fp16_somewhere =
        all_.all_reduce(std::int64_t{device_->fastest_16bit() != Precision::bf16},
                        Reduction::max) != 0;
    o.precision = fp16_somewhere ? Precision::fp16 : Precision::bf16;
    setup_.reasons.precision = "the fastest 16-bit precision here";
  }
}

// What the table and the profile are asked for.
void Preparation::identify() {
  const BenchmarkOptions& o = setup_.options;
  native_ = all_.all_reduce(std::int64_t{device_->native(o.precision)}, Reduction::min) != 0;
  key_ = profile_key(setup_);
}

Defaults Preparation::defaults(std::int64_t n) const {
  const BenchmarkOptions& o = setup_.options;
  return defaults_for({n, o.precision, o.device, native_, shape()});
}

Tuning Preparation::tuning(std::int64_t n) const {
  const BenchmarkOptions& o = setup_.options;
  const ProfileEntry* known = circumstances_.profile.find(key_, n);
  Tuning t = known ? known->tuning : defaults(n).tuning;
  if (o.nb != 0) t.nb = o.nb;
  if (o.lookahead >= 0) t.lookahead = o.lookahead;
  if (o.chunk != 0) t.chunk = o.chunk;
  return t;
}

// Before a chosen n is rounded to blocks, since that asks for their size.
void Preparation::settle_tuning(std::int64_t n) {
  BenchmarkOptions& o = setup_.options;
  const Tuning t = tuning(n);
  const Defaults table = defaults(n);
  const ProfileEntry* known = circumstances_.profile.find(key_, n);
  const std::string by_table = fmt::format("table ({})", table.row);
  const std::string source =
      known ? fmt::format("profile ({} at N = {})", known->date, known->n) : by_table;
  if (o.nb == 0)
    setup_.reasons.nb =
        source + (!known && table.cut ? ", cut to leave blocks for every rank" : "");
  if (o.lookahead < 0) setup_.reasons.lookahead = source;
  if (o.chunk == 0) setup_.reasons.chunk = source;
  o.nb = o.nb != 0 ? o.nb : std::min(t.nb, n);
  o.lookahead = t.lookahead;
  o.chunk = t.chunk == 0 ? n : std::min(t.chunk, n);
  if (o.pivoting == Pivoting::none || o.leaf != 0) return;
  o.leaf = table.leaf;
  setup_.reasons.leaf = by_table;
}

Footprint Preparation::footprint(std::int64_t n) const {
  const BenchmarkOptions& o = setup_.options;
  const Tuning t = tuning(n);
  Footprint f;
  f.n = n;
  f.nb = std::min(t.nb, n);
  f.shape = shape();
  f.precision = o.precision;
  f.pivoting = o.pivoting;
  f.lookahead = t.lookahead;
  f.chunk = t.chunk;
  f.device = o.device;
  f.native = native_;
  f.staged = o.comm == CommMethod::staged;
  f.held = kept_bytes();
  return f;
}

double Preparation::kept_bytes() const {
  const bool copied = circumstances_.kept == Kept::copy ||
                      (circumstances_.kept == Kept::in_place && !device_->shares_host_memory());
  return copied ? sizeof(double) : 0;
}

// A lower bound, for an n so large that its index maths would overflow.
double Preparation::factor_bytes(std::int64_t n) const {
  const auto bytes = static_cast<double>(bytes_of(storage_for(setup_.options.precision)));
  return (bytes + kept_bytes()) * static_cast<double>(n) * static_cast<double>(n) / all_.size();
}

bool Preparation::fits(std::int64_t n, double bytes) const {
  return factor_bytes(n) <= bytes && footprint(n).rank_bytes() <= bytes;
}

std::int64_t Preparation::largest_that_fits(double bytes) const {
  return largest_n([&](std::int64_t n) { return fits(n, bytes); });
}

void Preparation::choose_size() {
  BenchmarkOptions& o = setup_.options;
  const bool given = o.n != 0;
  if (!given)
    choose_n();
  else if (o.time_target > 0)
    setup_.notes.push_back("--time-target was not used, since N was given");
  // All ranks decide by rank 0's numbers; they could differ where nodes do.
  all_.broadcast(std::span(&o.n, 1), 0);
  settle_tuning(o.n);
  if (!given && o.n != circumstances_.most_n) o.n = round_to_blocks(o.n, o.nb);
}

void Preparation::choose_n() {
  BenchmarkOptions& o = setup_.options;
  const double allowed = o.memory_fraction * setup_.budget.rank_free;
  o.n = largest_that_fits(allowed);
  if (o.n == 0)
    throw UsageError(
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

std::int64_t Preparation::bound_by_time(std::int64_t n) {
  const BenchmarkOptions& o = setup_.options;
  all_.barrier();
  const double mine = agreed(all_, [&] {
    return update_rate(*device_, o.precision, footprint(n).panel_width(), trial_seconds, clock_);
  });
  const double rate = all_.size() * all_.all_reduce(mine, Reduction::min);
  const double efficiency = typical_efficiency(o.pivoting);
  const std::int64_t bound = largest_n_in_time(o.time_target, efficiency * rate);
  if (bound < n)
    setup_.reasons.n = fmt::format("for about {:g} s at {:.3g} of {:.0f} GFLOP/s measured",
                                   o.time_target, efficiency, rate / 1e9);
  return std::min(n, bound);
}

void Preparation::check_fit() {
  const BenchmarkOptions& o = setup_.options;
  const MemoryBudget& budget = setup_.budget;
  if (fits(o.n, budget.rank_free)) {
    setup_.footprint = footprint(o.n);
    check_host();
    return;
  }
  const double least = factor_bytes(o.n);
  const double needed = least <= budget.rank_free ? footprint(o.n).rank_bytes() : least;
  const std::int64_t most = largest_that_fits(budget.rank_free);
  throw UsageError(fmt::format(
      "{} {} does not fit: it needs {} a rank ({} for {} ranks on {}), free are {} ({} there); "
      "{}",
      circumstances_.size, o.n, gibibytes(needed), gibibytes(needed * budget.sharing),
      budget.sharing, where(budget), gibibytes(budget.rank_free), gibibytes(budget.shared_free),
      most > 0 ? fmt::format("allowed is at most {} {}", circumstances_.size, most)
               : fmt::format("no {} fits there", circumstances_.size)));
}

// A GPU's rank takes memory of its host too: vectors, and panels where they travel through it.
void Preparation::check_host() {
  if (device_->shares_host_memory()) return;
  const MemoryBudget host = tightest_host_budget(all_);
  const double needed = setup_.footprint.host_bytes();
  if (needed > host.rank_free)
    throw UsageError(fmt::format(
        "{} {} does not fit: {} need {} a rank in the memory of {}, free are {} "
        "for each of its {} ranks; allowed is a smaller {} or --nb, or another --comm",
        circumstances_.size, setup_.options.n,
        kept_bytes() > 0 ? "panels, vectors and pieces of A on their way" : "panels and vectors",
        gibibytes(needed), host.host, gibibytes(host.rank_free), host.sharing,
        circumstances_.size));
}

void Preparation::note_what_is_odd() {
  const BenchmarkOptions& o = setup_.options;
  if (o.nb > o.n)
    setup_.notes.push_back(fmt::format("NB = {} is more than N = {}: one block", o.nb, o.n));
  if (setup_.panel_width < setup_.footprint.nb)
    setup_.notes.push_back(fmt::format("panels of {} columns: {} would take too much memory",
                                       setup_.panel_width, setup_.footprint.nb));
  const std::int64_t blocks = (o.n - 1) / setup_.footprint.nb + 1;
  if (blocks < std::max(o.rows, o.columns))
    setup_.notes.push_back(
        fmt::format("{0} x {0} blocks on a grid of {1} x {2}: some ranks have "
                    "nothing to do",
                    blocks, o.rows, o.columns));
}

}  // namespace

Device& watched(Device& device, RunWatch& watch) {
  if (!watch.stalls()) return device;
  device.set_stalls(watch.stalls());
  watch.before_end([&device] { device.end_peers(); });
  return device;
}

ProfileKey profile_key(const Setup& setup) {
  const BenchmarkOptions& o = setup.options;
  return {setup.device, o.benchmark, o.precision, o.pivoting, o.rows, o.columns};
}

FactorOptions factor_options(const Setup& setup) {
  const BenchmarkOptions& o = setup.options;
  return {.precision = o.precision,
          .width = setup.panel_width,
          .lookahead = o.lookahead,
          .broadcast = o.broadcast,
          .pivoting = o.pivoting,
          .recursion = {.leaf = std::max(1, o.leaf), .parts = o.parts},
          .chunk = o.chunk};
}

PreparedSetup prepare(const Communicator& all, const BenchmarkOptions& options, const Clock& clock,
                      const Circumstances& circumstances) {
  return Preparation(all, options, clock, circumstances).run();
}

}  // namespace lupine
