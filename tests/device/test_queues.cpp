// SPDX-License-Identifier: BSD-3-Clause
// Memory, copies, queues and events.
#include <speedwell/error.hpp>

#include <thread>

#include "core/clock.hpp"
#include "device/bench.hpp"

namespace speedwell::test::queues_tests {
TEST_CASE("a device describes itself", "[queues]") {
  const Bench b;
  CHECK(b.device->kind() == device_choice().device);
  CHECK_FALSE(b.device->description().empty());
  CHECK(b.device->native(Precision::fp32));
  for (const auto storage : {Precision::fp32, Precision::fp64})
    CHECK(b.device->inverted_order(storage) >= 0);
  CHECK(b.device->memory().has_value() == !b.device->shares_host_memory());
  if (const auto memory = b.device->memory()) {
    CHECK(memory->total > 0);
    CHECK(memory->free >= 0);
    CHECK(memory->free <= memory->total);
    CHECK_FALSE(memory->identity.empty());
    CHECK_FALSE(memory->name.empty());
    CHECK(b.device->memory()->identity == memory->identity);
    CHECK(make_chosen_device()->memory()->identity == memory->identity);
  }
}

TEST_CASE("an allocation reduces the free memory", "[queues]") {
  const Bench b;
  if (!b.device->memory()) return;
  constexpr std::int64_t bytes = std::int64_t{1} << 30;
  const std::int64_t before = b.device->memory()->free;
  const Buffer buffer = b.device->allocate(bytes);
  CHECK(b.device->memory()->free <= before - bytes / 2);  // other programs may free memory too
}

TEST_CASE("memory: allocations of 0 bytes, of some, and of more than there is", "[queues]") {
  Bench b;
  for (const std::int64_t bytes : {0, 1, 7, 4096, 1000001}) {
    CHECK(b.device->allocate(bytes).bytes() == bytes);
    const Buffer host = b.device->allocate_host(bytes);
    CHECK(host.bytes() == bytes);
    std::fill_n(host.data(), bytes, std::byte{1});
  }
  for (const int bits : {50, 60})
    CHECK_THROWS_AS(b.device->allocate(std::int64_t{1} << bits), Fault);
  CHECK_THROWS_WITH(b.device->allocate(std::int64_t{1} << 60), ContainsSubstring("out of memory"));
  CHECK_THROWS_WITH(b.device->allocate_host(std::int64_t{1} << 60),
                    ContainsSubstring("out of memory"));
  CHECK(b.device->allocate(64).bytes() == 64);  // a failure does not harm the device
  Floats a = uniform_matrix(b, 3, 3);
  CHECK(a.unchanged());
}

TEST_CASE("downloads read what uploads wrote, with and without waiting", "[queues]") {
  Bench b;
  for (const std::int64_t n : {0, 1, 3, 257, 1 << 20}) {
    CAPTURE(n);
    const auto count = static_cast<std::size_t>(n);
    std::vector<double> values(count);
    for (double& value : values) value = std::cos(static_cast<double>(b.below(1000)));
    const Buffer device = b.device->allocate(n * 8);
    const Buffer other = b.device->allocate(n * 8);
    std::vector<double> back(count);
    b.device->upload(*b.queue, values, device.as<double>());
    b.device->download(*b.queue, device.as<double>(), back);
    CHECK(back == values);

    const Buffer out = b.device->allocate_host(n * 8);
    const Buffer in = b.device->allocate_host(n * 8);
    std::copy(values.rbegin(), values.rend(), out.as<double>());
    const std::span<const std::byte> out_bytes(out.data(), count * 8);
    b.device->write(*b.queue, out_bytes, device.data());
    b.device->copy(*b.queue, MatrixView<float>{device.as<float>(), 2, n, 2},
                   MatrixView<float>{other.as<float>(), 2, n, 2});
    b.device->read(*b.queue, other.data(), {in.data(), count * 8});
    b.queue->synchronize();
    CHECK(std::equal(values.rbegin(), values.rend(), in.as<double>()));
  }
}

TEST_CASE("upload and download run after earlier operations of the queue", "[queues]") {
  Bench b;
  Floats from = uniform_matrix(b, 700, 700);
  Floats to(b, 700, 700);
  for (int round = 0; round < 20; ++round) {
    from.set([&](std::int64_t i, std::int64_t j) { return static_cast<float>(i + j + round); });
    b.device->copy(*b.queue, from.view(), to.view());
    to.get();
    REQUIRE(to(699, 699) == static_cast<float>(1398 + round));
    REQUIRE(to(0, 0) == static_cast<float>(round));
  }
}

TEST_CASE("copy reads and writes only inside of its views", "[queues]") {
  Bench b;
  for (const auto& [m, n] : std::vector<std::pair<std::int64_t, std::int64_t>>{
           {0, 0}, {0, 5}, {5, 0}, {1, 1}, {1, 300}, {300, 1}, {33, 65}, {257, 129}, {700, 513}}) {
    CAPTURE(m, n);
    Floats from = uniform_matrix(b, m, n);
    Floats to(b, m, n);
    b.device->copy(*b.queue, from.view(), to.view());
    CHECK(to.frame_intact());
    CHECK(from.unchanged());
    CHECK(to.plain().data == from.plain().data);
  }
  b.device->copy(*b.queue, {}, {});
  b.queue->synchronize();
}

TEST_CASE("events are reached in order and have their times", "[queues]") {
  Bench b;
  const SteadyClock clock;
  for (const Priority priority : {Priority::normal, Priority::high}) {
    const auto queue = b.device->make_queue(priority);
    Floats from = uniform_matrix(b, 700, 700);
    Floats to(b, 700, 700);
    const double begin = clock.now();
    std::vector<EventPtr> events{queue->record()};
    for (int i = 0; i < 20; ++i) {
      b.device->copy(*queue, from.view(), to.view());
      events.push_back(queue->record());
    }
    events[7]->wait();
    for (std::size_t i = 0; i <= 7; ++i) CHECK(events[i]->reached());
    while (!events.back()->reached()) std::this_thread::yield();
    queue->synchronize();
    for (std::size_t i = 1; i < events.size(); ++i) {
      CHECK(events[i]->reached());
      CHECK(events[i]->seconds_since(*events[i - 1]) >= 0);
      CHECK(events[i]->seconds_since(*events[0]) >=
            events[i - 1]->seconds_since(*events[0]) - 1e-6);
    }
    CHECK(events.back()->seconds_since(*events.back()) == 0);
    // No more time than has passed on the host, whose clock may differ by a thousandth.
    const double passed = clock.now() - begin;
    CHECK(events.back()->seconds_since(*events.front()) <= 1.001 * passed + 1e-5);
  }
}

TEST_CASE("an event outlives its queue", "[queues]") {
  Bench b;
  auto queue = b.device->make_queue(Priority::high);
  const EventPtr event = queue->record();
  queue->synchronize();
  queue.reset();
  CHECK(event->reached());
  event->wait();
  b.queue->wait(*event);
  b.queue->synchronize();
}

TEST_CASE("a queue waits for another one's event", "[queues]") {
  Bench b;
  const auto first = b.device->make_queue(Priority::normal);
  const auto second = b.device->make_queue(Priority::high);
  const std::int64_t n = 700;
  // Each round overwrites what the round before read, so that a missing wait in either direction
  // gives a wrong result.
  Floats source = uniform_matrix(b, n, n);
  Floats middle(b, n, n);
  std::vector<Floats> ends;
  std::vector<Floats> sources;
  for (int round = 0; round < 10; ++round) {
    ends.emplace_back(b, n, n);
    sources.push_back(uniform_matrix(b, n, n));
  }
  EventPtr read = second->record();
  for (std::size_t round = 0; round < ends.size(); ++round) {
    first->wait(*read);
    for (int i = 0; i < 5; ++i) b.device->copy(*first, source.view(), middle.view());
    b.device->copy(*first, sources[round].view(), middle.view());
    second->wait(*first->record());
    b.device->copy(*second, middle.view(), ends[round].view());
    read = second->record();
  }
  first->synchronize();
  second->synchronize();
  for (std::size_t round = 0; round < ends.size(); ++round) {
    CHECK(ends[round].frame_intact());
    CHECK(ends[round].plain().data == sources[round].plain().data);
  }
}

TEMPLATE_TEST_CASE("copy: equal bits for every shape", "[queues]", float, double) {
  Bench b;
  for (const auto& [m, n] : std::vector<std::pair<std::int64_t, std::int64_t>>{
           {0, 0}, {0, 3}, {3, 0}, {1, 1}, {1, 300}, {300, 1}, {33, 31}, {257, 64}}) {
    CAPTURE(m, n);
    DeviceMatrix<TestType> from = uniform<TestType>(b, m, n);
    DeviceMatrix<TestType> to(b, m, n);
    b.device->copy(*b.queue, from.view(), to.view());
    CHECK(to.frame_intact());
    CHECK(from.unchanged());
    CHECK(to.plain().data == from.plain().data);
  }
}
}  // namespace speedwell::test::queues_tests
