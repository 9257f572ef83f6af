// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Broadcast of a panel along a process row or column while other work goes on.
///
/// The ring methods and spread-roll (scatter, then roll around a ring: HPL's "long") are schedules:
/// who gets which segment from whom, and passes it on to whom. One engine over Isend/Irecv/Test
/// runs any of them.
#pragma once

#include <lupine/options.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "comm/communicator.hpp"

namespace lupine {

/// One segment's way through one rank. Ranks are relative to the root (root = 0).
struct SegmentRoute {
  std::int64_t offset = 0;  ///< bytes from the panel's start
  std::int64_t length = 0;  ///< bytes, > 0
  int segment = 0;          ///< number of the segment, the same on every rank
  int from = -1;            ///< relative rank to receive from; -1 on the root
  std::vector<int> to;      ///< relative ranks to pass it on to, in this order
};

/// The way of every segment through relative rank `rank` of `ranks`. Pure. Every byte reaches every
/// rank exactly once.
///
/// | method               | way of a segment; h: half of the ranks, rounded up        |
/// |----------------------|-----------------------------------------------------------|
/// | ring                 | 0 -> 1 -> 2 -> ...                                        |
/// | ring_modified        | 0 -> 1; 0 -> 2 -> 3 -> ...                                |
/// | two_ring             | 0 -> 1 -> ... -> h-1; 0 -> h -> h+1 -> ...                |
/// | two_ring_modified    | 0 -> 1; 0 -> 2 -> ... -> h-1; 0 -> h -> h+1 -> ...        |
/// | spread_roll          | 0 -> e, the next e for each segment, then round 1, 2, ... |
/// | spread_roll_modified | 0 -> 1; 0 -> e, then round 2, 3, ...                      |
///
/// Rank 1 of the modified methods needs the panel first, to factor the next one. The root sends in
/// the order of its routes, and has a segment in several of them where it sends it more than once;
/// the others pass on as segments come. At most 200 segments of whole pages, of 1 MiB or more where
/// the panel is that large; spread and roll cuts smaller panels too, one segment for each rank of
/// its ring.
/// @throws UsageError unless method is not ibcast, bytes >= 0 and 0 <= rank < ranks
std::vector<SegmentRoute> broadcast_schedule(BroadcastMethod method, std::int64_t bytes, int ranks,
                                             int rank);

/// One broadcast in flight. The span and `comm` must stay valid until done. Collective: every rank
/// of `comm` starts the same broadcasts in the same order; `sequence` >= 0 is their running number
/// (at most 60 may be in flight at once on one communicator).
///
/// Nothing moves but in test() and wait(), and each moves its own broadcast alone. So ranks that
/// have several in flight either wait() for them in the same order, or test() the others meanwhile.
///
/// The destructor of one in flight waits for it; on the way out with an exception, when the others
/// may never come, it cancels what this rank has yet to receive and forgets what it has yet to
/// send. After that the communicator is of no more use.
class PanelBroadcast {
 public:
  PanelBroadcast();  ///< nothing in flight
  PanelBroadcast(BroadcastMethod method, const Communicator& comm, int root,
                 std::span<std::byte> bytes, std::int64_t sequence);
  PanelBroadcast(PanelBroadcast&&) noexcept;
  PanelBroadcast& operator=(PanelBroadcast&&) noexcept;
  ~PanelBroadcast();

  /// Moves messages on without blocking; true once this rank has received and passed on all.
  bool test();
  void wait();

 private:
  class Engine;
  std::unique_ptr<Engine> engine_;
};

}  // namespace lupine
