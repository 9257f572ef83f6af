// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Messages with panels between the device memories of ranks, by one of three methods:
///
/// - nccl: NCCL sends from device to device, in the order of a queue; the host does not wait.
/// - mpi: MPI gets addresses of device memory. On CPUs that is host memory; for GPUs the MPI
///   library must accept such addresses.
/// - staged: the device copies a panel to host memory, MPI sends it, and the receiving device
///   copies it from host memory.
#pragma once

#include <speedwell/options.hpp>

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "comm/panel_broadcast.hpp"
#include "comm/process_grid.hpp"
#include "core/expects.hpp"
#include "device/device.hpp"

namespace speedwell {

/// The ranks among which a message goes: those of a process row, or of a process column.
enum class Along { row, column };

/// The two kinds of messages. "panels": panels, diagonal blocks, and chunks of U for the next
/// panel's own column, for which all ranks wait next. "chunks": chunks of U for the rest of the
/// trailing matrix. Messages of one kind keep their order. Each kind has its own communicator and
/// queues, so that a panel never waits behind chunks.
enum class Traffic { panels, chunks };

/// The means of sending between the devices of a process grid: communicators, NCCL groups, queues,
/// and host memory for staged messages.
class Transport {
 public:
  /// Collective. @param method not automatic; nccl only where each rank has its own device
  Transport(const ProcessGrid& grid, Device& device, CommMethod method);

  const ProcessGrid& grid() const { return grid_; }
  Device& device() const { return device_; }
  CommMethod method() const { return method_; }

  /// Broadcasts device memory from `root` along a process row or column, in the order of `queue`:
  /// it sends what earlier operations of `queue` have written, and later operations of `queue` read
  /// what was received. With MPI and staged the host waits. Collective over the process row
  /// (column).
  void broadcast(Queue& queue, Along along, int root, std::span<std::byte> bytes);
  /// Copies the parts of all ranks of a process row or column to all of them, in the order of
  /// `queue`, as broadcast() does. `parts`, in device memory, has as many parts of equal length as
  /// there are ranks; each rank has written the one of its number. Collective over the process row
  /// (column).
  void all_gather(Queue& queue, Along along, std::span<std::byte> parts);
  /// Sends and receives between ranks of a process column, from device to device; starts when
  /// `ready` is reached. @return an event that is reached when all messages have arrived
  /// @pre method() is nccl
  EventPtr exchange(Traffic traffic, const Event& ready, std::span<const PeerMessage> sends,
                    std::span<const PeerMessage> receives);
  /// Waits for the queues of this transport: for all copies and messages of its carriers that the
  /// device executes.
  void synchronize();

 private:
  friend class Carrier;
  friend class RowExchange;
  // The communicators, NCCL groups and queues of one kind of traffic.
  struct Channel {
    std::unique_ptr<Communicator> column;  // null: the communicator of the grid
    std::unique_ptr<PeerGroup> row_peers;
    std::unique_ptr<PeerGroup> column_peers;
    std::unique_ptr<Queue> out;  // NCCL's messages, and copies to host memory
    std::unique_ptr<Queue> in;   // copies from host memory
  };
  const Channel& channel(Traffic traffic) const {
    return channels_[static_cast<std::size_t>(traffic)];
  }
  /// @pre with Traffic::chunks: Along::column
  const Communicator& comm(Traffic traffic, Along along) const {
    SPEEDWELL_EXPECTS(traffic == Traffic::panels || along == Along::column);
    if (along == Along::row) return grid_.row();
    return channel(traffic).column ? *channel(traffic).column : grid_.column();
  }
  PeerGroup& peers(Traffic traffic, Along along) const {
    return along == Along::row ? *channel(traffic).row_peers : *channel(traffic).column_peers;
  }
  std::unique_ptr<PeerGroup> join(const Communicator& comm) const;
  std::shared_ptr<Buffer> take_stage(std::int64_t bytes);
  template <class Send>
  void in_order(Queue& queue, Along along, const Send& send);
  std::span<std::byte> stage(std::span<std::byte> bytes);

  const ProcessGrid& grid_;
  Device& device_;
  CommMethod method_;
  std::array<Channel, 2> channels_;
  // Host memory of destroyed carriers, for new ones: allocating host memory that a device can read
  // takes longer than a small run.
  std::shared_ptr<std::vector<Buffer>> stages_;
  Buffer stage_;     // host memory of broadcast() and all_gather()
  EventPtr staged_;  // the device has read stage_
};

/// Broadcasts panels or chunks along a process row or column, one after the other, while other work
/// goes on. The control data of a panel travels in a message of its own. Below, "panel" stands for
/// a panel, a diagonal block or a chunk.
class Carrier {
 public:
  /// @param control_room,largest bytes of control data and of a panel's values at most
  Carrier(Transport& transport, Traffic traffic, Along along, std::int64_t control_room,
          std::int64_t largest);

  /// Begins the broadcast of a panel. Collective over the process row (column). Does not wait,
  /// except with BroadcastMethod::ibcast, which waits for `ready`.
  /// @param control,values device memory: sent by the root, written on the other ranks
  /// @param ready on the root: the panel is computed; on the others: its memory may be overwritten
  /// @param sequence running number of the panel, as for PanelBroadcast
  /// @pre test() was true for the panel before
  void start(int root, BroadcastMethod method, std::int64_t sequence, std::span<std::byte> control,
             std::span<std::byte> values, EventPtr ready);
  /// Moves the messages on without waiting. True when this rank's host has received the panel and
  /// passed it on (nccl: at once).
  bool test();
  /// The panel has arrived in device memory; null: it is there. On the root where the host sends:
  /// `ready`, as it was given. @pre test() was true
  const EventPtr& arrived() const {
    SPEEDWELL_EXPECTS(at_ == Stage::done);
    return arrived_;
  }
  /// The ranks for which this rank waits until test() is true, numbered as in the run's stall
  /// watch.
  std::span<const int> awaited() const {
    return root_ ? comm().watched() : comm().watched(root_rank_);
  }

 private:
  enum class Stage { waiting, moving, done };
  // Where MPI reads and writes these bytes of the device.
  static std::span<std::byte> on_host(std::span<std::byte> device_bytes,
                                      const std::shared_ptr<Buffer>& stage);
  void launch();
  void land();

  const Communicator& comm() const { return transport_->comm(traffic_, along_); }

  Transport* transport_;
  Traffic traffic_;
  Along along_;
  // Host memory, with `staged`. Apart, since in a simulation control data are real and values are
  // not.
  std::shared_ptr<Buffer> control_stage_;
  std::shared_ptr<Buffer> stage_;
  Stage at_ = Stage::done;
  bool root_ = false;
  int root_rank_ = 0;
  BroadcastMethod method_ = BroadcastMethod::ring;
  std::int64_t sequence_ = 0;
  std::span<std::byte> control_;
  std::span<std::byte> values_;
  EventPtr ready_;    // the messages may begin; null: at once
  EventPtr free_;     // the panel's device memory may be overwritten
  EventPtr arrived_;  // the panel is in device memory; null: it is there when test() is true
  EventPtr landed_;   // the device has read stage_, which may be overwritten
  PanelBroadcast control_message_;
  PanelBroadcast values_message_;
};

}  // namespace speedwell
