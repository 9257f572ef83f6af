// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The GPU of each rank, and the method by which panels travel between GPUs. Pure functions.
#pragma once

#include <speedwell/options.hpp>

#include <string>
#include <vector>

#include "device/peer_group.hpp"

namespace speedwell {

/// The ordinal of the GPU of rank `node_rank` of a node. The ranks take the GPUs of `list` in turn,
/// or, if `list` is empty, all GPUs 0 to gpus-1.
/// @throws UsageError if `gpus` is 0, or `list` holds an ordinal outside of 0 to gpus-1
int gpu_of(int node_rank, int gpus, const std::vector<int>& list);

/// Facts that decide how panels can travel; equal on every rank.
struct Connections {
  bool host_memory = true;        ///< devices compute in host memory
  bool own_devices = true;        ///< no two ranks share a device
  bool mpi_takes_device = false;  ///< on every rank, MPI reports that it takes device memory
  /// Why NCCL cannot connect all ranks' devices; empty if it can.
  std::string why_no_peers;
};

struct CommChoice {
  CommMethod method = CommMethod::mpi;
  std::string reason;  ///< empty if the user asked for the method
};

/// Why NCCL cannot connect the ranks' devices; empty if it can. The reason is that of the first
/// rank which has one (with the rank's number and host, unless all ranks have the same reason), or
/// two ranks whose versions of NCCL differ.
/// @param support,hosts one element for each rank
std::string why_no_peers(const std::vector<PeerSupport>& support,
                         const std::vector<std::string>& hosts);

/// The method by which panels travel: `wanted`, or if that is `automatic`, MPI for devices that
/// compute in host memory, else the first that is possible of NCCL, MPI with device addresses, and
/// MPI through host memory.
/// @throws UsageError if `wanted` is NCCL and that is not possible
CommChoice choose_comm(CommMethod wanted, const Connections& connections);

}  // namespace speedwell
