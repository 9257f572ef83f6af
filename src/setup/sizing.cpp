// SPDX-License-Identifier: BSD-3-Clause
#include "setup/sizing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "comm/agreement.hpp"
#include "setup/memory.hpp"

namespace speedwell {

namespace {

// The budget of the rank that may allocate the least; equal on every rank.
MemoryBudget tightest(const Communicator& all, const MemoryBudget& mine) {
  const std::vector<double> frees =
      all.all_gather(std::array{mine.rank_free, mine.shared_free, 1. * mine.sharing});
  const std::vector<std::string> hosts = all.all_gather(mine.host);
  const std::vector<std::string> bounds = all.all_gather(mine.bound);
  std::size_t least = 0;
  for (std::size_t r = 1; r < hosts.size(); ++r)
    if (frees[3 * r] < frees[3 * least]) least = r;
  return {frees[3 * least], frees[3 * least + 1], static_cast<int>(frees[3 * least + 2]),
          hosts[least],     bounds[least],        mine.on_device};
}

}  // namespace

MemoryBudget tightest_host_budget(const Communicator& all) {
  const Communicator node = all.split_node();
  const NodeMemory memory = agreed(all, [] { return node_memory(); });
  const double free = node.all_reduce(static_cast<double>(memory.free), Reduction::min);
  const double share = free / node.size();
  const auto own_limit = static_cast<double>(process_memory_left());
  const std::string bound = own_limit < share ? "resource limit of a process" : memory.bound;
  return tightest(all, {std::min(share, own_limit), free, node.size(), host_name(), bound});
}

MemoryBudget tightest_budget(const Communicator& all, const Device& device) {
  const bool on_host = device.shares_host_memory();
  if (all.all_reduce(std::int64_t{on_host}, Reduction::max) != 0) return tightest_host_budget(all);
  all.barrier();  // by now every rank's device has allocated what it needs for itself
  const auto memory = agreed(all, [&] { return *device.memory(); });
  const std::string id = fmt::format("{} {}", host_name(), memory.identity);
  const std::vector<std::string> ids = all.all_gather(id);
  const auto sharing = static_cast<int>(std::count(ids.begin(), ids.end(), id));
  const auto free = static_cast<double>(memory.free);
  return tightest(all, {free / sharing, free, sharing, host_name(), memory.name, true});
}

std::int64_t largest_n(const std::function<bool(std::int64_t)>& fits) {
  if (!fits(1)) return 0;
  std::int64_t good = 1;
  std::int64_t bad = 2;
  while (fits(bad)) {
    good = bad;
    if (bad > std::numeric_limits<std::int64_t>::max() / 2) return good;
    bad *= 2;
  }
  while (bad - good > 1) {
    const std::int64_t middle = good + (bad - good) / 2;
    (fits(middle) ? good : bad) = middle;
  }
  return good;
}

std::int64_t largest_n_in_time(double seconds, double rate) {
  return std::max(std::int64_t{1},
                  largest_n([&](std::int64_t n) { return benchmark_flops(n) <= seconds * rate; }));
}

std::int64_t round_to_blocks(std::int64_t n, std::int64_t nb) {
  return n < nb ? n : n - n % nb;
}

double benchmark_flops(std::int64_t n, std::int64_t rhs) {
  const auto order = static_cast<double>(n);
  return order * order * (2. / 3. * order + 2 * static_cast<double>(rhs) - 0.5);
}

std::string gibibytes(double bytes) {
  const double gib = bytes / (1 << 30);
  return gib >= 0.1 && gib < 1e6 ? fmt::format("{:.2f} GiB", gib) : fmt::format("{:.3g} GiB", gib);
}

}  // namespace speedwell
