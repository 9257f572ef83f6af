// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Rows that change places, within a rank and between the ranks of a process column.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "comm/messages.hpp"
#include "grid/row_moves.hpp"
#include "transport/transport.hpp"

namespace lupine {

/// Moves of rows with their indices in device memory.
class DeviceRowMoves {
 public:
  /// @param most rows that change places at most, of all ranks together
  DeviceRowMoves(Device& device, std::int64_t most);
  /// Waits until they are there. What uses the ones before must be done by then.
  void set(Queue& queue, RowMoves moves);

  const RowMoves& moves() const { return moves_; }
  const std::int64_t* from() const { return indices_.as<std::int64_t>(); }
  const std::int64_t* to() const { return from() + moves_.from.size(); }
  /// Rows to send to (places of rows from) the i-th peer.
  const std::int64_t* send(std::size_t i) const { return from() + offsets_[i]; }
  const std::int64_t* receive(std::size_t i) const { return send(i) + moves_.peers[i].send.size(); }

 private:
  Device* device_;
  Buffer indices_;
  RowMoves moves_;
  std::vector<std::size_t> offsets_;
};

/// Moves rows of one matrix after the other while other work goes on.
class RowExchange {
 public:
  /// @param rows,columns,element bytes of the largest part of a matrix whose rows it moves
  /// @param tag between ranks: exchanges that are in flight at once need different ones, from 0 on
  RowExchange(Transport& transport, Traffic traffic, std::int64_t rows, std::int64_t columns,
              std::int64_t element, int tag);

  /// Collective over the process column. What `queue` was given before is in what is sent. `a` must
  /// be left alone until finish(). @pre finish() was called for the one before
  void start(Queue& queue, const DeviceRowMoves& moves, AnyMatrix a);
  /// Moves messages on without waiting; true once finish() does not have to wait.
  bool test();
  /// What `queue`, the one of start(), is given from now on sees the moved rows.
  /// @pre test() was true
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
  Buffer out_;
  Buffer in_;
  std::shared_ptr<Buffer> stage_;  // out, then in
  Messages messages_;
  const DeviceRowMoves* moves_ = nullptr;
  bool moving_ = false;  // from start() to finish()
  AnyMatrix a_;
  EventPtr ready_;    // what is sent is where it is sent from; null: sent
  EventPtr free_;     // MPI may write to what is received; null: it is told to
  EventPtr arrived_;  // where devices send to each other
  EventPtr used_;     // buffers are free again
};

}  // namespace lupine
