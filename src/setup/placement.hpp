// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Which GPU a rank takes, and how panels travel between them. Pure.
#pragma once

#include <lupine/options.hpp>

#include <string>
#include <vector>

#include "device/peer_group.hpp"

namespace lupine {

/// The ordinal of the GPU of a node's `node_rank`-th rank: those of `list` in turn, or all `gpus`.
/// @throws UsageError if there is none, or `list` names one that is not there
int gpu_of(int node_rank, int gpus, const std::vector<int>& list);

/// What decides how panels can travel; the same on every rank.
struct Connections {
  bool host_memory = true;        ///< devices compute in host memory
  bool own_devices = true;        ///< no two ranks share a device
  bool mpi_takes_device = false;  ///< MPI says, everywhere, that it takes device memory
  /// Why not every rank's device can be connected by NCCL, in words; empty: they can.
  std::string why_no_peers;
};

struct CommChoice {
  CommMethod method = CommMethod::mpi;
  std::string reason;  ///< empty where it was asked for
};

/// What keeps the ranks from being connected: the words of all, where they are the same, else those
/// of the first that has any; and versions that differ, for NCCL connects no two. Empty: nothing.
/// @param support,hosts of every rank
std::string why_no_peers(const std::vector<PeerSupport>& support,
                         const std::vector<std::string>& hosts);

/// @throws UsageError where `wanted` cannot be had
CommChoice choose_comm(CommMethod wanted, const Connections& connections);

}  // namespace lupine
