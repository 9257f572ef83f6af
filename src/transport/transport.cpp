// SPDX-License-Identifier: BSD-3-Clause
#include "transport/transport.hpp"

#include <speedwell/error.hpp>

#include <algorithm>
#include <utility>
#include <vector>

#include "comm/agreement.hpp"
#include "core/expects.hpp"

namespace speedwell {

Transport::Transport(const ProcessGrid& grid, Device& device, CommMethod method)
    : grid_(grid),
      device_(device),
      method_(method),
      stages_(std::make_shared<std::vector<Buffer>>()) {
  Channel& panels = channels_[static_cast<std::size_t>(Traffic::panels)];
  Channel& chunks = channels_[static_cast<std::size_t>(Traffic::chunks)];
  if (grid.column().size() > 1)
    chunks.column = std::make_unique<Communicator>(grid.column().duplicate());
  agree(grid.all(), [&] {
    for (Channel* channel : {&panels, &chunks}) {
      const Priority priority = channel == &panels ? Priority::high : Priority::raised;
      channel->out = device.make_queue(priority);
      channel->in = device.make_queue(priority);
    }
  });
  if (method != CommMethod::nccl) return;
  panels.row_peers = join(grid.row());
  panels.column_peers = join(grid.column());
  chunks.column_peers = join(grid.column());
}

std::unique_ptr<PeerGroup> Transport::join(const Communicator& comm) const {
  if (comm.size() == 1) return nullptr;
  std::vector<std::byte> id;
  if (comm.rank() == 0) id = device_.make_peer_id();
  std::int64_t length = std::ssize(id);
  comm.broadcast(std::span(&length, 1), 0);
  id.resize(static_cast<std::size_t>(length));
  comm.broadcast(std::span(id), 0);
  return device_.join_peers(id, comm.rank(), comm.size());
}

// The smallest unused stage that is large enough, and not far larger, or a new one. It returns to
// stages_ when its last owner is destroyed.
std::shared_ptr<Buffer> Transport::take_stage(std::int64_t bytes) {
  constexpr std::int64_t far_larger = 4;
  auto best = stages_->end();
  for (auto at = stages_->begin(); at != stages_->end(); ++at)
    if (at->bytes() >= bytes && at->bytes() <= far_larger * bytes &&
        (best == stages_->end() || at->bytes() < best->bytes()))
      best = at;
  Buffer taken;
  if (best != stages_->end()) {
    taken = std::move(*best);
    stages_->erase(best);
  } else {
    taken = device_.allocate_host(bytes);
  }
  const auto give_back = [stages = stages_](Buffer* stage) {
    stages->push_back(std::move(*stage));
    delete stage;
  };
  return {new Buffer(std::move(taken)), give_back};
}

void Transport::synchronize() {
  for (const Channel& channel : channels_) {
    channel.out->synchronize();
    channel.in->synchronize();
  }
}

EventPtr Transport::exchange(Traffic traffic, const Event& ready,
                             std::span<const PeerMessage> sends,
                             std::span<const PeerMessage> receives) {
  SPEEDWELL_EXPECTS(method_ == CommMethod::nccl);
  Queue& out = *channel(traffic).out;
  out.wait(ready);
  peers(traffic, Along::column).exchange(out, sends, receives);
  return out.record();
}

// Calls send(peers, queue of messages), whose messages go between what `queue` has been given
// before and what it is given later.
template <class Send>
void Transport::in_order(Queue& queue, Along along, const Send& send) {
  Queue& out = *channel(Traffic::panels).out;
  out.wait(*queue.record());
  send(peers(Traffic::panels, along), out);
  queue.wait(*out.record());
}

// Where MPI reads and writes these bytes: with `staged`, in host memory, which the device has read.
std::span<std::byte> Transport::stage(std::span<std::byte> bytes) {
  if (method_ != CommMethod::staged) return bytes;
  if (staged_) staged_->wait();
  if (stage_.bytes() < std::ssize(bytes)) stage_ = device_.allocate_host(std::ssize(bytes));
  return {stage_.data(), bytes.size()};
}

void Transport::broadcast(Queue& queue, Along along, int root, std::span<std::byte> bytes) {
  const Communicator& group = comm(Traffic::panels, along);
  if (group.size() == 1) return;
  if (method_ == CommMethod::nccl)
    return in_order(queue, along,
                    [&](PeerGroup& peers, Queue& out) { peers.broadcast(out, bytes, root); });
  const bool staged = method_ == CommMethod::staged;
  const std::span<std::byte> host = stage(bytes);
  if (staged && group.rank() == root) device_.read(queue, bytes.data(), host);
  queue.synchronize();
  group.broadcast(host, root);
  if (!staged || group.rank() == root) return;
  device_.write(queue, host, bytes.data());
  staged_ = queue.record();
}

void Transport::all_gather(Queue& queue, Along along, std::span<std::byte> parts) {
  const Communicator& group = comm(Traffic::panels, along);
  if (group.size() == 1) return;
  if (method_ == CommMethod::nccl)
    return in_order(queue, along,
                    [&](PeerGroup& peers, Queue& out) { peers.all_gather(out, parts); });
  const bool staged = method_ == CommMethod::staged;
  const std::size_t each = parts.size() / group.size();
  const std::size_t mine = group.rank() * each;
  const std::span<std::byte> host = stage(parts);
  if (staged) device_.read(queue, parts.data() + mine, host.subspan(mine, each));
  queue.synchronize();
  group.all_gather(host);
  if (!staged) return;
  device_.write(queue, host, parts.data());
  staged_ = queue.record();
}

Carrier::Carrier(Transport& transport, Traffic traffic, Along along, std::int64_t control_room,
                 std::int64_t largest)
    : transport_(&transport), traffic_(traffic), along_(along) {
  if (transport.method() != CommMethod::staged || comm().size() == 1) return;
  control_stage_ = transport.take_stage(control_room);
  stage_ = transport.take_stage(largest);
}

std::span<std::byte> Carrier::on_host(std::span<std::byte> device_bytes,
                                      const std::shared_ptr<Buffer>& stage) {
  return stage ? std::span(stage->data(), device_bytes.size()) : device_bytes;
}

void Carrier::start(int root, BroadcastMethod method, std::int64_t sequence,
                    std::span<std::byte> control, std::span<std::byte> values, EventPtr ready) {
  SPEEDWELL_EXPECTS(at_ == Stage::done);
  root_rank_ = root;
  root_ = comm().rank() == root;
  method_ = method;
  sequence_ = sequence;
  control_ = control;
  values_ = values;
  arrived_ = root_ ? ready : nullptr;
  at_ = Stage::done;
  if (comm().size() == 1) return;

  Queue& out = *transport_->channel(traffic_).out;
  if (transport_->method() == CommMethod::nccl) {
    PeerGroup& peers = transport_->peers(traffic_, along_);
    out.wait(*ready);
    peers.broadcast(out, control, root);
    peers.broadcast(out, values, root);
    arrived_ = out.record();
    return;
  }
  at_ = Stage::waiting;
  ready_ = free_ = std::move(ready);
  if (stage_ && root_) {
    out.wait(*ready_);
    transport_->device().read(out, control.data(), on_host(control, control_stage_));
    transport_->device().read(out, values.data(), on_host(values, stage_));
    ready_ = out.record();
  } else if (stage_) {
    ready_ = landed_;
  }
  // MPI_Ibcast must begin in the same order on all ranks. So it begins here, not whenever a device
  // is ready.
  if (method == BroadcastMethod::ibcast && ready_) ready_->wait();
  test();
}

bool Carrier::test() {
  if (at_ == Stage::waiting && (!ready_ || ready_->reached())) launch();
  if (at_ == Stage::moving) {
    const bool control_done = control_message_.test();
    if (values_message_.test() && control_done) land();
  }
  return at_ == Stage::done;
}

void Carrier::launch() {
  control_message_ =
      PanelBroadcast(method_, comm(), root_rank_, on_host(control_, control_stage_), 2 * sequence_);
  values_message_ =
      PanelBroadcast(method_, comm(), root_rank_, on_host(values_, stage_), 2 * sequence_ + 1);
  at_ = Stage::moving;
}

void Carrier::land() {
  at_ = Stage::done;
  if (root_ || !stage_) return;
  Queue& in = *transport_->channel(traffic_).in;
  in.wait(*free_);
  transport_->device().write(in, on_host(control_, control_stage_), control_.data());
  transport_->device().write(in, on_host(values_, stage_), values_.data());
  arrived_ = landed_ = in.record();
}

}  // namespace speedwell
