// SPDX-License-Identifier: BSD-3-Clause
#include <cmath>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "paper/timeline.hpp"

namespace speedwell::test::timeline_tests {
using namespace speedwell::paper;

namespace {

/// When all operations given to the stream have ended.
double end_of(Timeline& gpu, int stream) {
  const MomentPtr end = gpu.record(stream, 0);
  REQUIRE(end->known);
  return end->time;
}

Load compute(double seconds, double part = 1) {
  return {.compute = seconds, .part = part};
}

Timeline::Limits limits(bool holds) {
  return {.bandwidth = 100, .bandwidth_part = 0.5, .holds = holds};
}

}  // namespace

TEST_CASE("Operations of a stream run one after the other, and not before the host gives them") {
  Timeline gpu(limits(true));
  const int stream = gpu.add(0);
  const MomentPtr before = gpu.record(stream, 3);
  CHECK(before->known);
  CHECK(before->time == 3);
  gpu.run(stream, 3, compute(2));
  gpu.run(stream, 4, compute(1));
  CHECK(end_of(gpu, stream) == 6);
  gpu.run(stream, 10, compute(0.5));
  CHECK(end_of(gpu, stream) == 10.5);
  CHECK(gpu.busy(stream) == 3.5);
}

TEST_CASE("An operation takes the longer of its arithmetic and its bytes, after its start") {
  for (const bool holds : {true, false}) {
    Timeline gpu(limits(holds));
    const int stream = gpu.add(0);
    const auto seconds = [&](const Load& load) {
      const double begin = end_of(gpu, stream);
      gpu.run(stream, 0, load);
      return end_of(gpu, stream) - begin;
    };
    CHECK(seconds({}) == 0);
    CHECK(seconds({.start = 2}) == Approx(2));
    CHECK(seconds({.compute = 3, .bytes = 100}) == Approx(3));
    CHECK(seconds({.compute = 3, .bytes = 400}) == Approx(4));
    CHECK(seconds({.start = 2, .compute = 3, .bytes = 400}) == Approx(6));
    // Half of the multiprocessors saturates the bandwidth, a quarter reaches half of it.
    CHECK(seconds({.bytes = 400, .part = 0.5}) == Approx(4));
    CHECK(seconds({.bytes = 400, .part = 0.25}) == Approx(8));
    CHECK(seconds({.compute = 3, .bytes = 400, .part = 0.25}) == Approx(12));
    CHECK(seconds({.compute = 1, .part = 1. / 1000}) == Approx(1000));
  }
}

TEST_CASE("A start uses no multiprocessor") {
  Timeline gpu(limits(true));
  const int one = gpu.add(0);
  const int two = gpu.add(0);
  gpu.run(one, 0, {.start = 5, .compute = 1});
  gpu.run(two, 0, compute(2));
  CHECK(end_of(gpu, two) == 2);
  gpu.run(two, 0, {.start = 5, .compute = 1});  // its start passes while the other one works
  CHECK(end_of(gpu, one) == 6);
  CHECK(end_of(gpu, two) == 8);
}

TEST_CASE("Parts of multiprocessors that fit side by side do not slow each other down") {
  for (const bool holds : {true, false})
    for (const int priority : {-1, 0, 1}) {
      Timeline gpu(limits(holds));
      const int large = gpu.add(0);
      const int small = gpu.add(priority);
      gpu.run(large, 0, compute(9, 0.9));
      gpu.run(small, 0, compute(0.3, 0.1));
      CHECK(end_of(gpu, large) == Approx(10));
      CHECK(end_of(gpu, small) == Approx(3));
    }
}

TEST_CASE("Products that hold every multiprocessor make a stream of higher priority wait") {
  Timeline gpu(limits(true));
  const int low = gpu.add(0);
  const int high = gpu.add(1);
  gpu.run(low, 0, compute(10));
  gpu.run(high, 2, compute(1));
  CHECK(end_of(gpu, low) == 10);
  CHECK(end_of(gpu, high) == 11);
  // The stream of high priority has been given its work first, so this product waits in its turn.
  gpu.run(low, 0, compute(1));
  CHECK(end_of(gpu, low) == 12);
}

TEST_CASE("Products that do not hold yield to a higher priority, and to no other") {
  for (const int priority : {-1, 0, 1}) {
    Timeline gpu(limits(false));
    const int first = gpu.add(0);
    const int second = gpu.add(priority);
    gpu.run(first, 0, compute(10));
    gpu.run(second, 2, compute(1));
    CHECK(end_of(gpu, second) == Approx(priority > 0 ? 3 : 11));
    CHECK(end_of(gpu, first) == Approx(priority > 0 ? 11 : 10));
  }
}

TEST_CASE("A product that yields loses no more than what is taken from it") {
  Timeline gpu(limits(false));
  const int low = gpu.add(0);
  const int high = gpu.add(1);
  gpu.run(low, 0, compute(8, 0.8));   // from 0 to 10
  gpu.run(high, 2, compute(2, 0.5));  // from 2 to 6: 0.3 of 0.8 is lost for 4 seconds
  CHECK(end_of(gpu, high) == Approx(6));
  CHECK(end_of(gpu, low) == Approx(11.5));
}

TEST_CASE("Time that a stream waits anyway is not lost again by yielding") {
  Timeline gpu(limits(false));
  const int low = gpu.add(0);
  const int high = gpu.add(1);
  const int other = gpu.add(-1);
  gpu.run(other, 20, {});
  gpu.run(low, 0, compute(4));
  gpu.wait(low, gpu.record(other, 20));
  gpu.run(high, 1, compute(2));  // the low one works until 6, and goes on at 20
  CHECK(end_of(gpu, low) == Approx(20));
  gpu.run(low, 0, compute(1));
  CHECK(end_of(gpu, low) == Approx(21));
}

TEST_CASE("An operation goes on with the part that becomes free") {
  Timeline gpu(limits(true));
  const int one = gpu.add(0);
  const int two = gpu.add(0);
  gpu.run(one, 0, compute(3, 0.75));  // until 4
  gpu.run(two, 0, compute(3));        // a quarter until 4: 1 of 3, then all
  CHECK(end_of(gpu, two) == Approx(6));
  // And it gives way to work that has been scheduled for later.
  const int three = gpu.add(0);
  gpu.run(three, 10, compute(5));  // from 10 to 15
  gpu.run(one, 8, compute(4));     // 2 until 10, and 2 from 15
  CHECK(end_of(gpu, one) == Approx(17));
}

TEST_CASE("What rounding leaves of an operation does not wait for others") {
  // The operations of two streams end in the same moment, up to rounding; then one has all.
  for (const double unit : {1., 1e-6})
    for (int i = 1; i <= 300; ++i) {
      const double length = i * unit / 7;
      Timeline gpu(limits(true));
      const int large = gpu.add(0);
      const int small = gpu.add(0);
      gpu.run(large, 100, compute(0.6 * length, 0.6));
      gpu.run(large, 100, compute(1000));
      gpu.run(small, 100, compute(0.4 * length, 0.4));
      CHECK(std::abs(end_of(gpu, small) - (100 + length)) < 1e-9);
    }
}

TEST_CASE("A stream waits for the moments of others, and the host for no one") {
  Timeline gpu(limits(true));
  const int one = gpu.add(0);
  const int two = gpu.add(0);
  gpu.run(one, 0, compute(2, 0.5));
  const MomentPtr behind = gpu.record(one, 0);
  gpu.run(one, 0, compute(2, 0.5));  // not waited for
  gpu.wait(two, behind);
  gpu.run(two, 1, compute(0.5, 0.5));
  CHECK(behind->time == 4);
  CHECK(end_of(gpu, two) == 5);
  gpu.wait(two, behind);  // long ago
  CHECK(end_of(gpu, two) == 5);
}

TEST_CASE("Moments behind a pause become known when it is resumed, in every stream") {
  Timeline gpu(limits(true));
  const int messages = gpu.add(1);
  const int one = gpu.add(0);
  const int two = gpu.add(0);
  std::vector<double> begun;
  gpu.run(messages, 0, compute(1));
  gpu.pause(messages, 0.5, [&](double time) { begun.push_back(time); });
  gpu.run(messages, 2, compute(2));
  const MomentPtr received = gpu.record(messages, 2);
  CHECK(begun == std::vector<double>{1});

  gpu.wait(one, received);
  gpu.wait(one, received);
  gpu.run(one, 2, compute(1));
  const MomentPtr end_of_one = gpu.record(one, 2);
  gpu.wait(two, end_of_one);
  gpu.run(two, 3, {.start = 1, .compute = 1});
  const MomentPtr end_of_two = gpu.record(two, 3);
  std::vector<double> told;
  end_of_two->on_known = [&] { told.push_back(end_of_two->time); };
  for (const auto& moment : {received, end_of_one, end_of_two}) CHECK(!moment->known);
  CHECK(told.empty());

  gpu.resume(messages, 7);
  CHECK(received->time == 9);
  CHECK(end_of_one->time == 10);
  CHECK(end_of_two->time == 12);
  CHECK(told == std::vector<double>{12});
  CHECK(begun.size() == 1);
}

TEST_CASE("Pauses of a stream begin one after the other, also where one ends at once") {
  Timeline gpu(limits(true));
  const int stream = gpu.add(0);
  std::vector<double> begun;
  for (int i = 0; i < 3; ++i)
    gpu.pause(stream, 0, [&gpu, &begun, stream, i](double time) {
      begun.push_back(time);
      if (i == 1) gpu.resume(stream, time + 1);
      begun.push_back(i);  // what the function refers to is still there
    });
  const MomentPtr end = gpu.record(stream, 0);
  CHECK(begun == std::vector<double>{0, 0});
  gpu.resume(stream, 5);
  CHECK(std::vector<double>(begun.begin() + 2, begun.begin() + 4) == std::vector<double>{5, 6});
  CHECK(begun.size() == 6);
  CHECK(!end->known);
  gpu.resume(stream, 8);
  CHECK(end->time == 8);
}

TEST_CASE("Work that a moment sets free on the other side of a pause gets the part that is left") {
  Timeline gpu(limits(true));
  const int messages = gpu.add(1);
  const int panel = gpu.add(1);
  const int update = gpu.add(0);
  gpu.pause(messages, 0, [](double) {});
  gpu.wait(panel, gpu.record(messages, 0));
  gpu.run(panel, 0, compute(1, 0.25));
  gpu.run(update, 0, compute(6, 0.75));  // until 8
  gpu.resume(messages, 2);
  CHECK(end_of(gpu, update) == Approx(8));
  CHECK(end_of(gpu, panel) == Approx(6));
}

TEST_CASE("A short schedule with look-ahead, computed by hand") {
  // Panels on a tenth of the GPU beside updates on the rest: update k waits for panel k, and panel
  // k + 1 for the first part of update k.
  //   panel 0:      0 to  2            update 0a:  2 to  4,  0b:  4 to 10
  //   panel 1:      4 to  6 (beside)   update 1a: 10 to 11,  1b: 11 to 13
  //   panel 2:     11 to 13 (beside)   update 2:  13 to 14
  for (const bool holds : {true, false}) {
    Timeline gpu(limits(holds));
    const int panels = gpu.add(1);
    const int updates = gpu.add(0);
    const auto panel = [&] {
      gpu.run(panels, 0, compute(0.2, 0.1));
      gpu.wait(updates, gpu.record(panels, 0));
    };
    const auto update = [&](double seconds) { gpu.run(updates, 0, compute(0.9 * seconds, 0.9)); };
    std::vector<double> ends;
    panel();
    for (const auto& [first, rest] : {std::pair{2., 6.}, {1., 2.}}) {
      update(first);
      const MomentPtr ready = gpu.record(updates, 0);
      update(rest);
      ends.push_back(end_of(gpu, updates));
      gpu.wait(panels, ready);
      panel();
      ends.push_back(end_of(gpu, panels));
    }
    update(1);
    ends.push_back(end_of(gpu, updates));
    const std::vector<double> expected{10, 6, 13, 13, 14};
    REQUIRE(ends.size() == expected.size());
    for (std::size_t i = 0; i < ends.size(); ++i) CHECK(ends[i] == Approx(expected[i]));
    CHECK(gpu.busy(panels) == Approx(6));
    CHECK(gpu.busy(updates) == Approx(12));
  }
}

TEST_CASE("Forgetting the past changes nothing that comes") {
  for (const bool holds : {true, false}) {
    std::vector<double> ends;
    for (const bool forgets : {true, false}) {
      Timeline gpu(limits(holds));
      const int low = gpu.add(0);
      const int high = gpu.add(1);
      for (int i = 0; i < 20; ++i) {
        if (forgets) gpu.forget(i);
        gpu.run(low, i, compute(0.7, 0.8));
        gpu.run(high, i + 0.25, compute(0.1, 0.5));
      }
      ends.push_back(end_of(gpu, low));
      ends.push_back(end_of(gpu, high));
    }
    CHECK(ends[0] == ends[2]);
    CHECK(ends[1] == ends[3]);
    CHECK(ends[0] > 17.5);
  }
}
}  // namespace speedwell::test::timeline_tests
