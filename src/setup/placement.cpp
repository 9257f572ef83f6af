// SPDX-License-Identifier: BSD-3-Clause
#include "setup/placement.hpp"

#include <fmt/format.h>
#include <speedwell/error.hpp>

#include <algorithm>

#include "core/counted.hpp"

namespace speedwell {

int gpu_of(int node_rank, int gpus, const std::vector<int>& list) {
  if (gpus < 1) throw UsageError("--device cuda is not allowed: there is no GPU; allowed: cpu");
  if (list.empty()) return node_rank % gpus;
  for (const int gpu : list)
    if (gpu < 0 || gpu >= gpus)
      throw UsageError(
          fmt::format("--gpus {} is not allowed: this process sees {}; allowed: "
                      "0 to {}",
                      gpu, counted(gpus, "GPU"), gpus - 1));
  return list[static_cast<std::size_t>(node_rank) % list.size()];
}

std::string why_no_peers(const std::vector<PeerSupport>& support,
                         const std::vector<std::string>& hosts) {
  const auto lacks = [](const PeerSupport& s) { return !s.why_none.empty(); };
  const auto first = std::find_if(support.begin(), support.end(), lacks);
  const auto rank = [&](auto at) {
    const auto r = static_cast<std::size_t>(at - support.begin());
    return fmt::format("rank {} on {}", r, hosts.at(r));
  };
  if (first != support.end()) {
    const bool alike = std::all_of(support.begin(), support.end(), [&](const PeerSupport& s) {
      return s.why_none == first->why_none;
    });
    return alike ? first->why_none : fmt::format("{}: {}", rank(first), first->why_none);
  }
  const auto other = std::find_if(support.begin(), support.end(), [&](const PeerSupport& s) {
    return s.library != support.front().library;
  });
  if (other == support.end()) return "";
  return fmt::format("{} has {}, {} has {}", rank(support.begin()), support.front().library,
                     rank(other), other->library);
}

CommChoice choose_comm(CommMethod wanted, const Connections& c) {
  const auto refuse = [](const char* what, const std::string& why, const char* allowed) {
    throw UsageError(fmt::format("--comm {} is not allowed: {}; allowed: {}", what, why, allowed));
  };
  switch (wanted) {
    case CommMethod::automatic:
      if (c.host_memory) return {CommMethod::mpi, "panels lie in host memory"};
      if (c.own_devices && c.why_no_peers.empty())
        return {CommMethod::nccl, "every rank has a GPU of its own"};
      if (c.mpi_takes_device)
        return {CommMethod::mpi, fmt::format("this MPI takes GPU memory; {}",
                                             c.own_devices ? c.why_no_peers : "ranks share a GPU")};
      return {CommMethod::staged, c.own_devices ? c.why_no_peers : "ranks share a GPU"};
    case CommMethod::nccl:
      if (c.host_memory) refuse("nccl", "NCCL is for GPUs", "auto, mpi, staged");
      if (!c.own_devices) refuse("nccl", "ranks share a GPU", "auto, mpi, staged");
      if (!c.why_no_peers.empty()) refuse("nccl", c.why_no_peers, "auto, mpi, staged");
      break;
    case CommMethod::mpi:  // some MPIs take GPU memory without reporting it
    case CommMethod::staged:
      break;
  }
  return {wanted, ""};
}

}  // namespace speedwell
