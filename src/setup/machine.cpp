// SPDX-License-Identifier: BSD-3-Clause
#include "setup/machine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "comm/agreement.hpp"
#include "host/thread_scope.hpp"
#include "setup/options_check.hpp"
#include "setup/placement.hpp"

namespace speedwell {

CoreShare core_share(const Communicator& all) {
  CoreShare share;
  share.processor = agreed(all, [] { return processor_info(); });
  const std::string mine = core_binding();
  const std::vector<std::string> bindings = all.split_node().all_gather(mine);
  const auto beside = std::ranges::count_if(
      bindings, [&](const std::string& other) { return bindings_overlap(mine, other); });
  share.node_ranks = static_cast<int>(bindings.size());
  share.sharing = std::max(1, static_cast<int>(beside));
  return share;
}

/// Makes a machine's choices one after the other, with the same outcome on every rank.
class MachineChoice {
 public:
  MachineChoice(const Communicator& all, const RunOptions& options) : all_(all) {
    facts_.run = options;
  }

  Machine::Chosen run() {
    require_equal_options(all_, facts_.run);
    agree(all_, [&] { check_run_options(facts_.run, all_.size()); });
    facts_.hosts = all_.all_gather(host_name());
    choose_grid();
    choose_threads();
    choose_device();
    choose_connections();
    return {std::move(facts_), threads_, std::move(device_)};
  }

 private:
  void choose_grid();
  void choose_threads();
  void note_binding(const CoreShare& share);
  void choose_device();
  std::string why_not_gpus(int gpus) const;
  std::vector<PeerSupport> peer_support() const;
  void choose_connections();

  const Communicator& all_;
  MachineFacts facts_;
  int threads_ = 1;
  std::unique_ptr<Device> device_;
};

void MachineChoice::choose_grid() {
  RunOptions& o = facts_.run;
  if (o.nprow != 0 && o.npcol != 0) return;
  if (o.nprow == 0 && o.npcol == 0) {
    const GridShape grid = squarest(all_.size(), o.order);
    o.nprow = grid.nprow;
    o.npcol = grid.npcol;
    facts_.reasons.grid =
        all_.size() == 1 ? "one rank" : fmt::format("the squarest grid of {} ranks", all_.size());
  } else {
    facts_.reasons.grid = fmt::format("all {} ranks", all_.size());
    (o.nprow == 0 ? o.nprow : o.npcol) = all_.size() / (o.nprow + o.npcol);
  }
}

void MachineChoice::choose_threads() {
  const CoreShare share = core_share(all_);
  if (facts_.run.threads == 0) facts_.reasons.threads = "each rank's share of the cores it may use";
  threads_ = facts_.run.threads != 0 ? facts_.run.threads : share.threads();
  note_binding(share);
  const std::int64_t threads = threads_ = std::min(threads_, largest_team());
  facts_.run.threads = static_cast<int>(all_.all_reduce(threads, Reduction::min));
  facts_.most_threads = static_cast<int>(all_.all_reduce(threads, Reduction::max));
}

void MachineChoice::note_binding(const CoreShare& share) {
  const ProcessorInfo& processor = share.processor;
  std::string problem;
  if (threads_ > largest_team())
    problem = fmt::format(
        "{} threads, but OpenMP gives {} (OMP_THREAD_LIMIT, "
        "OMP_MAX_ACTIVE_LEVELS)",
        threads_, largest_team());
  else if (threads_ > processor.bound_cores)
    problem = fmt::format(
        "{} threads, but bound to {} of {} cores (mpirun --bind-to none lets "
        "ranks use all)",
        threads_, processor.bound_cores, processor.cores);
  else if (threads_ * share.sharing > processor.bound_cores)
    problem = fmt::format("{} ranks of {} threads each share {} cores", share.sharing, threads_,
                          processor.bound_cores);
  else if (processor.bound_cores < processor.cores / share.node_ranks)
    problem = fmt::format(
        "bound to {} of {} cores, fewer than its share (mpirun --bind-to none "
        "lets ranks use all)",
        processor.bound_cores, processor.cores);
  std::map<std::string, std::vector<std::size_t>> ranks;
  const std::vector<std::string> problems = all_.all_gather(problem);
  for (std::size_t r = 0; r < problems.size(); ++r)
    if (!problems[r].empty()) ranks[problems[r]].push_back(r);
  for (const auto& [words, which] : ranks)
    facts_.notes.push_back(
        which.size() == 1
            ? fmt::format("rank {} on {}: {}", which[0], facts_.hosts[which[0]], words)
            : fmt::format("rank {} on {} and {} more: {}", which[0], facts_.hosts[which[0]],
                          which.size() - 1, words));
}

// The reason of the first rank that sees no GPU.
std::string MachineChoice::why_not_gpus(int gpus) const {
  const std::vector<std::string> reasons = all_.all_gather(gpus > 0 ? "" : why_no_gpus());
  const auto first = std::find_if(reasons.begin(), reasons.end(),
                                  [](const std::string& reason) { return !reason.empty(); });
  if (std::find(reasons.begin(), reasons.end(), "") == reasons.end()) return *first;
  const auto rank = static_cast<std::size_t>(first - reasons.begin());
  return fmt::format("rank {} on {} sees no GPU: {}", rank, facts_.hosts[rank], *first);
}

// Chooses GPUs where every rank sees one, unless the user names a device. The ranks of a node take
// its GPUs in turn.
void MachineChoice::choose_device() {
  RunOptions& o = facts_.run;
  const int gpus = o.device == DeviceKind::cpu ? 0 : count_gpus();
  if (o.device == DeviceKind::automatic) {
    const bool everywhere = all_.all_reduce(std::int64_t{gpus}, Reduction::min) > 0;
    o.device = everywhere ? DeviceKind::cuda : DeviceKind::cpu;
    facts_.reasons.device = everywhere ? "every rank sees a GPU" : why_not_gpus(gpus);
  }
  const bool cuda = o.device == DeviceKind::cuda;
  if (!cuda && (!o.gpus.empty() || o.reserve >= 0))
    agree(all_, [] { throw UsageError("--gpus and --reserve are allowed only with GPUs"); });
  if (!cuda && o.fp64 == Fp64Products::emulated)
    agree(all_, [] {
      throw UsageError(
          "--fp64 emulated needs a GPU, and this run computes on CPUs; allowed: native");
    });
  const int node_rank = all_.split_node().rank();
  device_ = agreed(all_, [&] {
    if (cuda && gpus == 0)
      throw UsageError(
          fmt::format("--device cuda is not allowed: {}; allowed: cpu", why_no_gpus()));
    return make_device({.kind = o.device,
                        .threads = threads_,
                        .gpu = cuda ? gpu_of(node_rank, gpus, o.gpus) : 0,
                        .reserved = o.reserve,
                        .fp64 = o.fp64,
                        .alone = all_.size() == 1,
                        .run = all_.run()});
  });
  facts_.device = all_.all_gather(device_->description()).front();
  facts_.fp64 = all_.all_gather(device_->fp64_products()).front();
  facts_.paper = device_->on_paper();
  if (facts_.paper && o.fp64 == Fp64Products::emulated)
    agree(all_, [] {
      throw UsageError(
          "--fp64 emulated cannot be predicted: a machine file has no rate of emulated products; "
          "allowed: native");
    });
}

// The peer support of every rank, by rank.
std::vector<PeerSupport> MachineChoice::peer_support() const {
  const PeerSupport mine = agreed(all_, [this] { return device_->peer_support(); });
  const std::vector<std::string> libraries = all_.all_gather(mine.library);
  const std::vector<std::string> reasons = all_.all_gather(mine.why_none);
  std::vector<PeerSupport> all;
  for (std::size_t r = 0; r < reasons.size(); ++r) all.push_back({libraries[r], reasons[r]});
  return all;
}

// All ranks decide by the same values: a rank that chose another method would leave the other ranks
// waiting.
void MachineChoice::choose_connections() {
  Connections c;
  const auto everywhere = [this](bool mine) {
    return all_.all_reduce(std::int64_t{mine}, Reduction::min) != 0;
  };
  c.host_memory = everywhere(device_->shares_host_memory());
  if (!c.host_memory) {
    const auto memory = agreed(all_, [this] { return *device_->memory(); });
    std::vector<std::string> ids = all_.all_gather(memory.identity);
    facts_.gpus = all_.all_gather(memory.name);
    std::sort(ids.begin(), ids.end());
    c.own_devices = std::adjacent_find(ids.begin(), ids.end()) == ids.end();
    c.mpi_takes_device = everywhere(mpi_takes_device_memory());
    c.why_no_peers = why_no_peers(peer_support(), facts_.hosts);
  }
  const CommChoice choice = agreed(all_, [&] { return choose_comm(facts_.run.comm, c); });
  facts_.run.comm = choice.method;
  facts_.reasons.comm = choice.reason;
}

void MachineFacts::settle(RunOptions& options) const {
  options.order = run.order;
  options.nprow = run.nprow;
  options.npcol = run.npcol;
  options.device = run.device;
  options.comm = run.comm;
  options.threads = run.threads;
}

Machine::Machine(CommHandle comm, const RunOptions& options, std::unique_ptr<const Clock> clock,
                 const RunHooks& hooks)
    : clock_(std::move(clock)),
      watch_(comm, *clock_, options.stall_timeout),
      run_(*clock_, watch_.stalls(), hooks),
      all_(Communicator::duplicate(comm, run_)),
      chosen_(MachineChoice(all_, options).run()),
      grid_(all_, chosen_.facts.shape()) {
  watch_.before_end([this] { device().end_peers(); });
  if (const auto memory = hooks.meter ? device().memory() : std::nullopt)
    hooks.meter->uses_gpu(memory->identity, memory->name);
}

// The watch may be ending the run, and is to know no device that is gone.
Machine::~Machine() {
  watch_.before_end({});
}

Transport& Machine::transport() {
  if (!transport_) transport_.emplace(grid_, device(), facts().run.comm);
  return *transport_;
}

bool Machine::native(Precision precision) const {
  return all_.all_reduce(std::int64_t{device().native(precision)}, Reduction::min) != 0;
}

std::vector<std::string> Machine::with_remarks(std::vector<std::string> notes) const {
  if (facts().gpus.empty() || facts().paper) return notes;
  const auto in_a_run = [](const ProductChoice& one) { return one.refused == "in a run"; };
  const std::int64_t mine = std::ranges::count_if(device().product_choices(), in_a_run);
  std::array counts{mine, std::int64_t{mine > 0}};
  all_.all_reduce(counts, Reduction::sum);
  if (counts[0] > 0)
    notes.push_back(
        fmt::format("cuBLASLt refused {} of the algorithms that it had offered, on {} of {} ranks; "
                    "the products "
                    "took others",
                    counts[0], counts[1], all_.size()));
  return notes;
}

}  // namespace speedwell
