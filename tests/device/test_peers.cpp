// SPDX-License-Identifier: BSD-3-Clause
// Messages between devices without their hosts, in groups of one device: so a program on one GPU
// tests the library that connects GPUs.
#include <iostream>

#include "device/bench.hpp"

namespace speedwell::test::peers_tests {
namespace {

std::unique_ptr<PeerGroup> alone(Bench& b) {
  if (!b.device->connects_peers()) {
    std::cout << "peers of device " << name(b.device->kind()) << ": SKIPPED ("
              << b.device->peer_support().why_none << ")\n";
    return nullptr;
  }
  return b.device->join_peers(b.device->make_peer_id(), 0, 1);
}

std::span<std::byte> bytes_of(const Buffer& buffer) {
  return {buffer.data(), static_cast<std::size_t>(buffer.bytes())};
}

std::vector<double> numbers(std::size_t count, double first) {
  std::vector<double> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = first + static_cast<double>(i);
  return values;
}

}  // namespace

TEST_CASE("a device that cannot connect to peers says why", "[peers]") {
  const Bench b;
  const PeerSupport support = b.device->peer_support();
  CHECK(support.library.empty() != support.why_none.empty());
  CHECK(b.device->connects_peers() == support.why_none.empty());
  CHECK(support.why_none.find('\n') == support.why_none.npos);
}

TEST_CASE("a broadcast in a group of one runs in order and changes nothing", "[peers]") {
  Bench b;
  const auto group = alone(b);
  if (!group) return;
  for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{100003}}) {
    CAPTURE(count);
    const Buffer values = b.device->allocate(static_cast<std::int64_t>(count * sizeof(double)));
    const std::vector<double> sent = numbers(count, 7);
    std::vector<double> back(count);
    b.device->upload(*b.queue, sent, values.as<double>());
    group->broadcast(*b.queue, bytes_of(values), 0);
    b.device->download(*b.queue, values.as<double>(), back);
    CHECK(back == sent);
  }
}

TEST_CASE("several messages of a device to itself arrive", "[peers]") {
  Bench b;
  const auto group = alone(b);
  if (!group) return;
  std::vector<Buffer> out;
  std::vector<Buffer> in;
  std::vector<PeerMessage> sends;
  std::vector<PeerMessage> receives;
  const std::vector<std::size_t> counts{1, 4097, 0, 50000};
  for (const std::size_t count : counts) {
    const auto bytes = static_cast<std::int64_t>(count * sizeof(double));
    out.push_back(b.device->allocate(bytes));
    in.push_back(b.device->allocate(bytes));
    b.device->upload(*b.queue, numbers(count, static_cast<double>(count)), out.back().as<double>());
    b.device->upload(*b.queue, std::vector<double>(count), in.back().as<double>());
    sends.push_back({0, bytes_of(out.back())});
    receives.push_back({0, bytes_of(in.back())});
  }
  for (int round = 0; round < 3; ++round) group->exchange(*b.queue, sends, receives);
  for (std::size_t i = 0; i < counts.size(); ++i) {
    std::vector<double> back(counts[i]);
    b.device->download(*b.queue, in[i].as<double>(), back);
    CHECK(back == numbers(counts[i], static_cast<double>(counts[i])));
  }
}

TEST_CASE("several groups exist at the same time", "[peers]") {
  Bench b;
  const auto first = alone(b);
  if (!first) return;
  const Buffer values = b.device->allocate(4096);
  b.device->upload(*b.queue, numbers(512, 0), values.as<double>());
  for (int i = 0; i < 3; ++i) {
    const auto other = alone(b);
    other->broadcast(*b.queue, bytes_of(values), 0);
    first->broadcast(*b.queue, bytes_of(values), 0);
    b.queue->synchronize();
  }
}
}  // namespace speedwell::test::peers_tests
