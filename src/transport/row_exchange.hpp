// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The exchange of rows that pivoting causes, within a rank and between the ranks of a process
/// column.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "comm/messages.hpp"
#include "grid/row_moves.hpp"
#include "transport/transport.hpp"

namespace speedwell {

/// The moves of rows of one panel (RowMoves), with their rows in device memory alone.
class DeviceRowMoves {
 public:
  using Peer = RowMoves::Peer;
  /// @param pivots at most, each of which moves two rows
  DeviceRowMoves(Device& device, std::int64_t pivots);
  /// Replaces the moves, and waits until the rows are in device memory. Operations that use the
  /// old moves must be done.
  void set(Queue& queue, const RowMoves& moves);

  std::int64_t within() const { return within_; }
  const std::vector<Peer>& peers() const { return peers_; }
  /// Device memory: moves within this rank, row from()[i] to row to()[i].
  const std::int64_t* from() const { return rows_.as<std::int64_t>(); }
  const std::int64_t* to() const { return from() + within_; }
  /// Device memory: the rows to send to a peer, and the places of the rows received from it.
  const std::int64_t* send(const Peer& peer) const { return from() + peer.begin; }
  const std::int64_t* receive(const Peer& peer) const { return send(peer) + peer.sends; }

 private:
  Device* device_;
  Buffer rows_;
  std::int64_t within_ = 0;
  std::vector<Peer> peers_;
};

/// Moves rows within matrices, one matrix after the other, while other work goes on.
class RowExchange {
 public:
  /// @param rows,columns most rows that this rank sends or receives, and most columns of the matrix
  /// @param element bytes of an element
  /// @param tag distinguishes exchanges that are in flight at the same time; counted from 0
  RowExchange(Transport& transport, Traffic traffic, std::int64_t rows, std::int64_t columns,
              std::int64_t element, int tag);
  /// Bytes of device memory, and of host memory with `staged`, where a column has several ranks.
  static std::int64_t bytes(std::int64_t rows, std::int64_t columns, std::int64_t element) {
    return 2 * rows * columns * element;
  }

  /// Begins to move rows of `a`, in device memory. The rows are read after the earlier operations
  /// of `queue`. No other operation may use `a` until finish(). Collective over the process column.
  /// @pre finish() was called for the exchange before
  void start(Queue& queue, const DeviceRowMoves& moves, AnyMatrix a);
  /// Moves the messages on without waiting. True when this rank has sent and received all rows.
  bool test();
  /// Stores the received rows in `a`. Later operations of `queue` see the moved rows.
  /// @param queue that of start() @pre test() was true
  void finish(Queue& queue);

 private:
  std::span<std::byte> part(std::byte* memory, std::int64_t row, std::int64_t rows) const;
  AnyMatrix block(const Buffer& memory, std::int64_t row, std::int64_t rows) const;
  template <class Use>
  void for_each_peer(const Use& use) const;
  void send();
  void receive();

  Transport* transport_;
  Traffic traffic_;
  Buffer out_;                     // device memory: the rows to send, gathered
  Buffer in_;                      // device memory: the received rows
  std::shared_ptr<Buffer> stage_;  // host memory, with `staged`: a copy of out_, then of in_
  Messages messages_;
  const DeviceRowMoves* moves_ = nullptr;
  bool moving_ = false;  // from start() to finish()
  AnyMatrix a_;
  EventPtr ready_;    // the rows to send are gathered; null: sending has begun
  EventPtr free_;     // the memory of the received rows is free; null: receiving has begun
  EventPtr arrived_;  // with nccl: all rows have arrived
  EventPtr used_;     // the last exchange is done with all buffers
};

}  // namespace speedwell
