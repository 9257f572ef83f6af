// SPDX-License-Identifier: BSD-3-Clause
#include "host/core_waits.hpp"

#include <sched.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <thread>
#include <vector>

#include "catch.hpp"
#include "host/thread_scope.hpp"

namespace speedwell::test::core_waits_tests {
TEST_CASE("the thread that waited most for cores counts") {
  constexpr std::int64_t ms = 1'000'000;
  const ThreadTimes before{{"1", {10 * ms, 90 * ms}}, {"2", {10 * ms, 0}}};
  CHECK(waiting_share(before, before) == 0);
  CHECK(waiting_share(before, {{"1", {40 * ms, 90 * ms}}, {"2", {30 * ms, 20 * ms}}}) == 0.5);
  CHECK(waiting_share(before, {{"1", {40 * ms, 100 * ms}}, {"2", {10 * ms, 0}}}) == 0.25);
  // A new thread counts from its beginning, and one that was ready for a moment does not.
  CHECK(waiting_share(before, {{"3", {36 * ms, 4 * ms}}}) == 0.1);
  CHECK(waiting_share(before, {{"1", {10 * ms, 109 * ms}}}) == 0);
  CHECK(waiting_share({}, {}) == 0);
}

namespace {
/// Threads that keep the calling thread's core, on which all of them run, from each other.
class Crowd {
 public:
  explicit Crowd(int threads) {
    for (int i = 0; i < threads; ++i)
      threads_.emplace_back([this] {
        while (!end_) continue;
      });
  }
  ~Crowd() {
    end_ = true;
    for (std::thread& thread : threads_) thread.join();
  }
  Crowd(const Crowd&) = delete;
  Crowd& operator=(const Crowd&) = delete;

 private:
  std::atomic<bool> end_ = false;
  std::vector<std::thread> threads_;
};

/// Whether teams come to wait so (`sleeping`) within 10 s, in scopes one after another.
bool come_to_wait(bool sleeping) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (sleeps_while_waiting() != sleeping) {
    if (std::chrono::steady_clock::now() > end) return false;
    const ThreadScope two(2);
  }
  return true;
}

std::ptrdiff_t threads_here() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
}
}  // namespace

// Its environment leaves the choice open (tests/CMakeLists.txt).
TEST_CASE("teams sleep while they wait where others want the cores and spin afterwards",
          "[.core_waits]") {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(::sched_getcpu(), &one);
  cpu_set_t all;
  REQUIRE(::sched_getaffinity(0, sizeof all, &all) == 0);
  std::ptrdiff_t sleeping = 0;
  {
    REQUIRE(::sched_setaffinity(0, sizeof one, &one) == 0);
    const Crowd crowd(3);
    CHECK(come_to_wait(true));
    sleeping = threads_here() - 3;
    REQUIRE(::sched_setaffinity(0, sizeof all, &all) == 0);
  }
  CHECK(come_to_wait(false));
  CHECK(sleeping == threads_here() + 2);  // so OpenMP had more than the process has cores
}
}  // namespace speedwell::test::core_waits_tests
