// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// How panels, which lie in device memory, travel between ranks.
///
/// - nccl: from device to device, in the order of a queue; the host does not wait.
/// - mpi: MPI is given device addresses: CPUs', and those of GPUs where an MPI takes them.
/// - staged: through host memory that the device reads and writes by itself.
#pragma once

#include <lupine/options.hpp>

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "comm/panel_broadcast.hpp"
#include "comm/process_grid.hpp"
#include "core/expects.hpp"
#include "device/device.hpp"

namespace lupine {

/// Which part of the grid a message goes along.
enum class Along { row, column };

/// What is on its way. Each kind has communicators and queues of its own, in which messages keep
/// their order: so a panel, which everybody waits for next, never queues behind chunks of U for the
/// rest of the matrix.
enum class Traffic { panels, chunks };

class Transport {
 public:
  /// Collective. @param method not automatic; nccl only where each rank has a device of its own
  Transport(const ProcessGrid& grid, Device& device, CommMethod method);

  const ProcessGrid& grid() const { return grid_; }
  Device& device() const { return device_; }
  CommMethod method() const { return method_; }

  /// From `root` to all of a process row (column), for what everybody waits for: what `queue` was
  /// given before is in it, what it is given from now on sees it. With MPI the host waits.
  void broadcast(Queue& queue, Along along, int root, std::span<std::byte> bytes);
  /// Between the ranks of a process column, from device to device, once `ready` is reached.
  /// @return reached when all have arrived. @pre method() is nccl
  EventPtr exchange(Traffic traffic, const Event& ready, std::span<const PeerMessage> sends,
                    std::span<const PeerMessage> receives);
  /// Waits for what carriers have given to the device.
  void synchronize();

 private:
  friend class Carrier;
  friend class RowExchange;
  struct Way {
    std::unique_ptr<Communicator> column;  // null: the grid's
    std::unique_ptr<PeerGroup> row_peers;
    std::unique_ptr<PeerGroup> column_peers;
    std::unique_ptr<Queue> out;
    std::unique_ptr<Queue> in;
  };
  const Way& way(Traffic traffic) const { return ways_[static_cast<std::size_t>(traffic)]; }
  /// @pre chunks go along columns alone
  const Communicator& comm(Traffic traffic, Along along) const {
    LUPINE_EXPECTS(traffic == Traffic::panels || along == Along::column);
    if (along == Along::row) return grid_.row();
    return way(traffic).column ? *way(traffic).column : grid_.column();
  }
  PeerGroup& peers(Traffic traffic, Along along) const {
    return along == Along::row ? *way(traffic).row_peers : *way(traffic).column_peers;
  }
  std::unique_ptr<PeerGroup> join(const Communicator& comm) const;
  std::shared_ptr<Buffer> take_stage(std::int64_t bytes);

  const ProcessGrid& grid_;
  Device& device_;
  CommMethod method_;
  std::array<Way, 2> ways_;
  // Of carriers that are gone: making host memory that a device reads takes longer than small runs.
  std::shared_ptr<std::vector<Buffer>> stages_;
  Buffer stage_;  // of broadcast()
  EventPtr staged_;
};

/// Carries panels along a process row or column, one after the other, while other work goes on.
/// Control data travels with each panel, in a message of its own.
class Carrier {
 public:
  /// @param control_room,largest bytes of control data and of a panel at most
  Carrier(Transport& transport, Traffic traffic, Along along, std::int64_t control_room,
          std::int64_t largest);

  /// Collective over the process row (column). Returns at once.
  /// @param ready on the root: the panel is there; on the others: its place is free
  /// @param sequence running number of the panel, as for PanelBroadcast
  /// @pre the panel before has arrived
  void start(int root, BroadcastMethod method, std::int64_t sequence, std::span<std::byte> control,
             std::span<std::byte> values, EventPtr ready);
  /// Moves messages on without waiting; true once the host has nothing more to do for this panel.
  bool test();
  /// What `queue` is given from now on sees the panel. @pre test() was true
  void arrive_in(Queue& queue) const;
  /// Whom this rank waits for until test() is true, as the run's watch counts ranks.
  std::span<const int> awaited() const {
    return root_ ? comm().watched() : comm().watched(root_rank_);
  }

 private:
  enum class Stage { waiting, moving, done };
  std::span<std::byte> on_host(std::span<std::byte> device_bytes, std::int64_t offset) const;
  void launch();
  void land();

  const Communicator& comm() const { return transport_->comm(traffic_, along_); }

  Transport* transport_;
  Traffic traffic_;
  Along along_;
  // Control data has a place of its own: it never shares a message with values.
  std::int64_t control_room_;
  std::shared_ptr<Buffer> stage_;
  Stage at_ = Stage::done;
  bool root_ = false;
  int root_rank_ = 0;
  BroadcastMethod method_ = BroadcastMethod::ring;
  std::int64_t sequence_ = 0;
  std::span<std::byte> control_;
  std::span<std::byte> values_;
  EventPtr ready_;    // before messages may move
  EventPtr free_;     // before the device's memory may be written
  EventPtr arrived_;  // null: nothing to wait for
  EventPtr landed_;   // the stage may be overwritten
  PanelBroadcast control_message_;
  PanelBroadcast values_message_;
};

}  // namespace lupine
