// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Devices that send to each other without their hosts.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "device/queue.hpp"

namespace lupine {

/// What devices send to each other by.
struct PeerSupport {
  std::string library;   ///< "NCCL 2.28.9"; of the same version on all ranks of a group
  std::string why_none;  ///< in words; empty: there is one
};

/// What one rank of a PeerGroup sends to, or receives from, another.
struct PeerMessage {
  int peer = 0;
  std::span<std::byte> bytes;  ///< device memory
};

/// Devices of several ranks that send to each other without their hosts.
class PeerGroup {
 public:
  virtual ~PeerGroup() = default;
  /// From rank `root` to all. Every rank calls in the same order. @throws Fault
  virtual void broadcast(Queue& queue, std::span<std::byte> bytes, int root) = 0;
  /// Between pairs of ranks; each message has its counterpart of the same size there. @throws Fault
  virtual void exchange(Queue& queue, std::span<const PeerMessage> sends,
                        std::span<const PeerMessage> receives) = 0;
};

}  // namespace lupine
