#include "setup/placement.hpp"

#include <fmt/format.h>
#include <lupine/error.hpp>

namespace lupine {

int gpu_of(int node_rank, int gpus, const std::vector<int>& list) {
  if (gpus < 1) throw UsageError("--device cuda is not allowed: there is no GPU; allowed: cpu");
  if (list.empty()) return node_rank % gpus;
  for (const int gpu : list)
    if (gpu < 0 || gpu >= gpus)
      throw UsageError(
          fmt::format("--gpus {} is not allowed: this process sees {} GPU{}; allowed: "
                      "0 to {}",
                      gpu, gpus, gpus == 1 ? "" : "s", gpus - 1));
  return list[static_cast<std::size_t>(node_rank) % list.size()];
}

CommChoice choose_comm(CommMethod wanted, const Connections& c) {
  const auto refuse = [](const char* what, const char* why, const char* allowed) {
    throw UsageError(fmt::format("--comm {} is not allowed: {}; allowed: {}", what, why, allowed));
  };
  switch (wanted) {
    case CommMethod::automatic:
      if (c.host_memory) return {CommMethod::mpi, "panels lie in host memory"};
      if (c.own_devices && c.peers) return {CommMethod::nccl, "every rank has a GPU of its own"};
      if (c.mpi_takes_device) return {CommMethod::mpi, "this MPI takes GPU memory"};
      return {CommMethod::staged, c.own_devices ? "built without NCCL" : "ranks share a GPU"};
    case CommMethod::nccl:
      if (c.host_memory) refuse("nccl", "NCCL is for GPUs", "auto, mpi, staged");
      if (!c.peers) refuse("nccl", "built without NCCL", "auto, mpi, staged");
      if (!c.own_devices) refuse("nccl", "ranks share a GPU", "auto, mpi, staged");
      break;
    case CommMethod::mpi:  // an MPI may take GPU memory and not say so
    case CommMethod::staged:
      break;
  }
  return {wanted, ""};
}

}  // namespace lupine
