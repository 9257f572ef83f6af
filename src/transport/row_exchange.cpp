// SPDX-License-Identifier: BSD-3-Clause
#include "transport/row_exchange.hpp"

#include <algorithm>
#include <utility>

#include "core/expects.hpp"

namespace lupine {

DeviceRowMoves::DeviceRowMoves(Device& device, std::int64_t most)
    : device_(&device), indices_(device.allocate(2 * most * std::int64_t{sizeof(std::int64_t)})) {}

void DeviceRowMoves::set(Queue& queue, RowMoves moves) {
  moves_ = std::move(moves);
  std::vector<std::int64_t> all = moves_.from;
  all.insert(all.end(), moves_.to.begin(), moves_.to.end());
  offsets_.clear();
  for (const RowMoves::Peer& peer : moves_.peers) {
    offsets_.push_back(all.size());
    all.insert(all.end(), peer.send.begin(), peer.send.end());
    all.insert(all.end(), peer.receive.begin(), peer.receive.end());
  }
  if (!all.empty()) device_->upload(queue, all, indices_.as<std::int64_t>());
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
  return {a_.precision, memory.data() + row * a_.columns * bytes_of(a_.precision), rows, a_.columns,
          rows};
}

std::span<std::byte> RowExchange::part(std::byte* memory, std::int64_t row,
                                       std::int64_t rows) const {
  const std::int64_t row_bytes = a_.columns * bytes_of(a_.precision);
  return {memory + row * row_bytes, static_cast<std::size_t>(rows * row_bytes)};
}

// Calls use(i, i-th peer, s, r), where s rows go to the peers before it and r come from them.
template <class Use>
void RowExchange::for_each_peer(const Use& use) const {
  std::int64_t sent = 0;
  std::int64_t received = 0;
  const auto& peers = moves_->moves().peers;
  for (std::size_t i = 0; i < peers.size(); ++i) {
    use(i, peers[i], sent, received);
    sent += std::ssize(peers[i].send);
    received += std::ssize(peers[i].receive);
  }
}

void RowExchange::start(Queue& queue, const DeviceRowMoves& moves, AnyMatrix a) {
  LUPINE_EXPECTS(!moving_);
  moving_ = true;
  moves_ = &moves;
  a_ = a;
  ready_ = free_ = arrived_ = nullptr;
  if (a.empty()) return;
  Device& device = transport_->device();
  const RowMoves& rows = moves.moves();
  const bool peers = !rows.peers.empty();
  if (used_) queue.wait(*used_);
  const bool nccl = transport_->method() == CommMethod::nccl;
  for_each_peer([&](std::size_t i, const RowMoves::Peer& peer, std::int64_t sent, std::int64_t) {
    const std::int64_t count = std::ssize(peer.send);
    device.gather_rows(queue, moves.send(i), a, block(out_, sent, count));
    const auto bytes = part(out_.data(), sent, count);
    if (stage_) device.read(queue, bytes.data(), part(stage_->data(), sent, count));
  });
  if (peers) ready_ = queue.record();
  device.permute_rows(queue, moves.from(), moves.to(), std::ssize(rows.from), a);
  if (!peers) return;
  if (nccl) {
    std::vector<PeerMessage> sends;
    std::vector<PeerMessage> receives;
    for_each_peer(
        [&](std::size_t, const RowMoves::Peer& peer, std::int64_t sent, std::int64_t received) {
          sends.push_back({peer.process, part(out_.data(), sent, std::ssize(peer.send))});
          receives.push_back({peer.process, part(in_.data(), received, std::ssize(peer.receive))});
        });
    arrived_ = transport_->exchange(traffic_, *std::exchange(ready_, nullptr), sends, receives);
    return;
  }
  used_ ? void(free_ = used_) : receive();
  test();
}

void RowExchange::receive() {
  std::byte* in = stage_ ? stage_->data() + out_.bytes() : in_.data();
  for_each_peer([&](std::size_t, const RowMoves::Peer& peer, std::int64_t, std::int64_t received) {
    messages_.receive(part(in, received, std::ssize(peer.receive)), peer.process);
  });
  free_ = nullptr;
}

void RowExchange::send() {
  std::byte* out = stage_ ? stage_->data() : out_.data();
  for_each_peer([&](std::size_t, const RowMoves::Peer& peer, std::int64_t sent, std::int64_t) {
    messages_.send(part(out, sent, std::ssize(peer.send)), peer.process);
  });
  ready_ = nullptr;
}

bool RowExchange::test() {
  if (free_ && free_->reached()) receive();
  if (ready_ && ready_->reached()) send();
  return messages_.test() && !ready_ && !free_;
}

void RowExchange::finish(Queue& queue) {
  LUPINE_EXPECTS(!ready_ && !free_ && messages_.idle());
  moving_ = false;
  if (!moves_ || a_.empty()) return;
  Device& device = transport_->device();
  if (arrived_) queue.wait(*arrived_);
  const std::int64_t half = out_.bytes();
  for_each_peer(
      [&](std::size_t i, const RowMoves::Peer& peer, std::int64_t, std::int64_t received) {
        const std::int64_t count = std::ssize(peer.receive);
        const auto bytes = part(in_.data(), received, count);
        if (stage_) device.write(queue, part(stage_->data() + half, received, count), bytes.data());
        device.scatter_rows(queue, moves_->receive(i), block(in_, received, count), a_);
      });
  used_ = queue.record();
}

}  // namespace lupine
