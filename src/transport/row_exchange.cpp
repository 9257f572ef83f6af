// SPDX-License-Identifier: BSD-3-Clause
#include "transport/row_exchange.hpp"

#include <algorithm>
#include <utility>

#include "core/expects.hpp"

namespace speedwell {

// A row that moves has two entries: where it is, and where it goes.
DeviceRowMoves::DeviceRowMoves(Device& device, std::int64_t pivots)
    : device_(&device), rows_(device.allocate(4 * pivots * std::int64_t{sizeof(std::int64_t)})) {}

void DeviceRowMoves::set(Queue& queue, const RowMoves& moves) {
  within_ = moves.within;
  peers_ = moves.peers;
  if (!moves.empty())
    device_->upload(queue, std::span<const std::int64_t>(moves.rows), rows_.as<std::int64_t>());
}

RowExchange::RowExchange(Transport& transport, Traffic traffic, std::int64_t rows,
                         std::int64_t columns, std::int64_t element, int tag)
    : transport_(&transport),
      traffic_(traffic),
      messages_(transport.comm(traffic, Along::column), Messages::first_tag + tag) {
  if (transport.grid().column().size() == 1) return;
  const std::int64_t both = bytes(rows, columns, element);
  out_ = transport.device().allocate(both / 2);
  in_ = transport.device().allocate(both / 2);
  if (transport.method() == CommMethod::staged) stage_ = transport.take_stage(both);
}

// The contiguous matrix of one peer's rows in out_ (or in_), where `row` rows of other peers come
// before it.
AnyMatrix RowExchange::block(const Buffer& memory, std::int64_t row, std::int64_t rows) const {
  return {a_.precision, memory.data() + row * a_.columns * a_.element_bytes(),
          rows,         a_.columns,
          rows,         a_.field};
}

std::span<std::byte> RowExchange::part(std::byte* memory, std::int64_t row,
                                       std::int64_t rows) const {
  const std::int64_t row_bytes = a_.columns * a_.element_bytes();
  return {memory + row * row_bytes, static_cast<std::size_t>(rows * row_bytes)};
}

// Calls use(peer, s, r), where s rows go to the peers before it and r come from them.
template <class Use>
void RowExchange::for_each_peer(const Use& use) const {
  std::int64_t sent = 0;
  std::int64_t received = 0;
  for (const RowMoves::Peer& peer : moves_->peers()) {
    use(peer, sent, received);
    sent += peer.sends;
    received += peer.receives;
  }
}

void RowExchange::start(Queue& queue, const DeviceRowMoves& moves, AnyMatrix a) {
  SPEEDWELL_EXPECTS(!moving_);
  moving_ = true;
  moves_ = &moves;
  a_ = a;
  ready_ = free_ = arrived_ = nullptr;
  if (a.empty()) return;
  Device& device = transport_->device();
  const bool peers = !moves.peers().empty();
  if (used_) queue.wait(*used_);
  const bool nccl = transport_->method() == CommMethod::nccl;
  for_each_peer([&](const RowMoves::Peer& peer, std::int64_t sent, std::int64_t) {
    device.gather_rows(queue, moves.send(peer), a, block(out_, sent, peer.sends));
    const auto bytes = part(out_.data(), sent, peer.sends);
    if (stage_) device.read(queue, bytes.data(), part(stage_->data(), sent, peer.sends));
  });
  if (peers) ready_ = queue.record();
  device.permute_rows(queue, moves.from(), moves.to(), moves.within(), a);
  if (!peers) return;
  if (nccl) {
    std::vector<PeerMessage> sends;
    std::vector<PeerMessage> receives;
    for_each_peer([&](const RowMoves::Peer& peer, std::int64_t sent, std::int64_t received) {
      sends.push_back({peer.process, part(out_.data(), sent, peer.sends)});
      receives.push_back({peer.process, part(in_.data(), received, peer.receives)});
    });
    arrived_ = transport_->exchange(traffic_, *std::exchange(ready_, nullptr), sends, receives);
    return;
  }
  used_ ? void(free_ = used_) : receive();
  test();
}

void RowExchange::receive() {
  std::byte* in = stage_ ? stage_->data() + out_.bytes() : in_.data();
  for_each_peer([&](const RowMoves::Peer& peer, std::int64_t, std::int64_t received) {
    messages_.receive(part(in, received, peer.receives), peer.process);
  });
  free_ = nullptr;
}

void RowExchange::send() {
  std::byte* out = stage_ ? stage_->data() : out_.data();
  for_each_peer([&](const RowMoves::Peer& peer, std::int64_t sent, std::int64_t) {
    messages_.send(part(out, sent, peer.sends), peer.process);
  });
  ready_ = nullptr;
}

bool RowExchange::test() {
  if (free_ && free_->reached()) receive();
  if (ready_ && ready_->reached()) send();
  return messages_.test() && !ready_ && !free_;
}

void RowExchange::finish(Queue& queue) {
  SPEEDWELL_EXPECTS(!ready_ && !free_ && messages_.idle());
  moving_ = false;
  if (!moves_ || a_.empty()) return;
  Device& device = transport_->device();
  if (arrived_) queue.wait(*arrived_);
  const std::int64_t half = out_.bytes();
  for_each_peer([&](const RowMoves::Peer& peer, std::int64_t, std::int64_t received) {
    const auto bytes = part(in_.data(), received, peer.receives);
    if (stage_)
      device.write(queue, part(stage_->data() + half, received, peer.receives), bytes.data());
    device.scatter_rows(queue, moves_->receive(peer), block(in_, received, peer.receives), a_);
  });
  used_ = queue.record();
}

}  // namespace speedwell
