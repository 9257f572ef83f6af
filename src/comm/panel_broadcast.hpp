// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Non-blocking broadcast of a panel along a process row or column.
///
/// The ring methods and spread-roll (scatter, then roll around a ring: HPL's "long") are schedules:
/// a schedule says from which rank a rank receives each segment, and to which ranks it passes the
/// segment on. One engine over MPI_Isend, MPI_Irecv and MPI_Testsome runs any schedule.
#pragma once

#include <speedwell/options.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "comm/communicator.hpp"

namespace speedwell {

/// What one rank does with one segment of the panel. Ranks are relative to the root: the root is 0.
struct SegmentRoute {
  std::int64_t offset = 0;  ///< bytes from the panel's start
  std::int64_t length = 0;  ///< bytes, > 0
  int segment = 0;          ///< number of the segment, the same on every rank
  int from = -1;            ///< relative rank to receive the segment from; -1 on the root
  std::vector<int> to;      ///< relative ranks to pass the segment on to, in this order
};

/// The routes of all segments through relative rank `rank` of `ranks`. Pure. Every rank but the
/// root receives every byte exactly once. No routes for bytes = 0 or ranks = 1.
///
/// | method               | route of a segment; h: half of the ranks, rounded up      |
/// |----------------------|-----------------------------------------------------------|
/// | ring                 | 0 -> 1 -> 2 -> ...                                        |
/// | ring_modified        | 0 -> 1; 0 -> 2 -> 3 -> ...                                |
/// | two_ring             | 0 -> 1 -> ... -> h-1; 0 -> h -> h+1 -> ...                |
/// | two_ring_modified    | 0 -> 1; 0 -> 2 -> ... -> h-1; 0 -> h -> h+1 -> ...        |
/// | spread_roll          | 0 -> e, then around the ring of ranks 1, 2, ...           |
/// | spread_roll_modified | 0 -> 1; 0 -> e, then around the ring of ranks 2, 3, ...   |
///
/// e: the rank at which the segment enters the ring; the next segment enters at the next rank.
///
/// The modified methods serve rank 1 first, since it factors the next panel. The root sends in the
/// order of its routes; it has several routes for a segment that it sends more than once. Other
/// ranks pass a segment on when it has arrived. The panel is cut into at most 200 segments of whole
/// pages (4 KiB), only the last of which may be smaller. The ring methods make segments of at least
/// 1 MiB where the panel is that large; spread-roll also cuts smaller panels, into as many segments
/// as its ring has ranks.
/// @throws UsageError unless method is not ibcast, bytes >= 0 and 0 <= rank < ranks
std::vector<SegmentRoute> broadcast_schedule(BroadcastMethod method, std::int64_t bytes, int ranks,
                                             int rank);

/// One broadcast in flight. The constructor starts it; `bytes` and `comm` must stay valid until it
/// is done. Collective: every rank of `comm` starts the same broadcasts in the same order;
/// `sequence` >= 0 is their running number. At most 60 may be in flight on one communicator.
///
/// Messages move on only in test(), which moves only its own broadcast. So ranks with several
/// broadcasts in flight either wait for them in the same order, or test() the others while they
/// wait for one.
///
/// The destructor waits for a broadcast in flight. While an exception unwinds the stack, other
/// ranks may never send: then it cancels this rank's receives, and gives up its sends without
/// waiting. The communicator must not be used any more after that.
class PanelBroadcast {
 public:
  PanelBroadcast();  ///< nothing in flight
  PanelBroadcast(BroadcastMethod method, const Communicator& comm, int root,
                 std::span<std::byte> bytes, std::int64_t sequence);
  PanelBroadcast(PanelBroadcast&&) noexcept;
  PanelBroadcast& operator=(PanelBroadcast&&) noexcept;
  ~PanelBroadcast();

  /// Moves messages on without waiting. Returns whether this rank has received all segments and
  /// passed them on. @throws Fault if MPI fails
  bool test();

 private:
  class Engine;
  std::unique_ptr<Engine> engine_;
};

}  // namespace speedwell
