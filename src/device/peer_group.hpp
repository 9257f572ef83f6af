// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Messages between devices that do not pass through their hosts.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "device/queue.hpp"

namespace speedwell {

/// The library by which devices send to each other, or the reason why there is none.
struct PeerSupport {
  std::string library;   ///< "NCCL 2.28.9"; all ranks of a group need the same version
  std::string why_none;  ///< the reason in words; empty if there is a library
};

/// The bytes that one rank of a PeerGroup sends to another one, or receives from it.
struct PeerMessage {
  int peer = 0;                ///< the other rank, as the group counts
  std::span<std::byte> bytes;  ///< device memory
};

/// A group of ranks whose devices send to each other without their hosts. Operations run on the
/// queue that they are given.
class PeerGroup {
 public:
  virtual ~PeerGroup() = default;
  /// Copies rank root's bytes to all ranks of the group. Every rank calls the group's operations in
  /// the same order. @throws Fault if the library or a peer fails
  virtual void broadcast(Queue& queue, std::span<std::byte> bytes, int root) = 0;
  /// Copies every rank's part to all ranks: `parts` has as many parts of equal length as the group
  /// has ranks, of which each rank has written the one of its number. Order and errors as
  /// broadcast().
  virtual void all_gather(Queue& queue, std::span<std::byte> parts) = 0;
  /// Sends and receives between pairs of ranks. For each send, the peer has a receive of the same
  /// size in its own call. @throws Fault if the library or a peer fails
  virtual void exchange(Queue& queue, std::span<const PeerMessage> sends,
                        std::span<const PeerMessage> receives) = 0;
};

}  // namespace speedwell
