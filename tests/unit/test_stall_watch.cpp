// SPDX-License-Identifier: BSD-3-Clause
#include <speedwell/error.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <vector>

#include "catch.hpp"
#include "comm/run_watch.hpp"
#include "core/trace.hpp"

namespace speedwell::test::stall_watch_tests {
namespace {

/// A clock that the test moves.
class HandClock final : public Clock {
 public:
  double now() const override { return now_; }
  void move(double seconds) { now_ = now_ + seconds; }

 private:
  std::atomic<double> now_ = 1000;
};

/// A watch with a limit of 100 s, which looks every second, and the stalls that it has raised.
struct Watched {
  HandClock clock;
  std::vector<Stall> raised{};
  StallWatch watch{clock, 100, [this](const Stall& stall) { raised.push_back(stall); }};

  void pass(int seconds) {
    for (int i = 0; i < seconds; ++i) {
      clock.move(1);
      watch.look();
    }
  }
};

const std::vector<RankPlace> places{{"a", 11}, {"a", 12}, {"b", 13},
                                    {"b", 14}, {"c", 15}, {"c", 16}};

std::string words(const Stall& stall, const std::vector<char>& states = {}) {
  return stall_words(stall, 0, places, states);
}

}  // namespace

TEST_CASE("a wait beyond the limit raises the alarm once and names the wait", "[stalls]") {
  Watched w;
  const std::vector<int> ranks{3, 5};
  const StallWatch::Doing doing(&w.watch, Activity::wait_for_panel, 7);
  const StallWatch::Waiting waiting(&w.watch, "messages", ranks);
  w.pass(99);
  CHECK(w.raised.empty());
  w.pass(2);
  REQUIRE(w.raised.size() == 1);
  CHECK(w.raised[0].what == "messages");
  CHECK(w.raised[0].ranks == ranks);
  CHECK(w.raised[0].activity == Activity::wait_for_panel);
  CHECK(w.raised[0].step == 7);
  CHECK(w.raised[0].seconds >= 100);
  w.pass(300);
  CHECK(w.raised.size() == 1);
}

TEST_CASE("neither computing nor many short waits are a stall", "[stalls]") {
  Watched w;
  w.pass(1000);
  {
    const StallWatch::Doing doing(&w.watch, Activity::update, 1);
    w.pass(1000);
  }
  for (int i = 0; i < 20; ++i) {
    const StallWatch::Waiting waiting(&w.watch, "MPI_Bcast");
    w.pass(90);
  }
  CHECK(w.raised.empty());
}

TEST_CASE("waits inside of a wait are one wait, which the innermost names", "[stalls]") {
  Watched w;
  const std::vector<int> ranks{2};
  const StallWatch::Waiting outer(&w.watch, "outer", ranks);
  for (int i = 0; i < 3; ++i) {
    const StallWatch::Waiting inner(&w.watch, "inner");
    w.pass(30);
  }
  CHECK(w.raised.empty());
  w.pass(20);
  REQUIRE(w.raised.size() == 1);
  CHECK(w.raised[0].what == "outer");
  CHECK(w.raised[0].ranks == ranks);

  Watched other;
  const StallWatch::Waiting first(&other.watch, "outer", ranks);
  const StallWatch::Waiting second(&other.watch, "inner");
  other.pass(110);
  REQUIRE(other.raised.size() == 1);
  CHECK(other.raised[0].what == "inner");
  CHECK(other.raised[0].ranks.empty());
  CHECK_FALSE(other.raised[0].activity.has_value());
}

TEST_CASE("alarms during a pause say so, and its time does not count afterwards", "[stalls]") {
  Watched w;
  const StallWatch::Waiting waiting(&w.watch, "MPI_Allreduce");
  {
    const StallWatch::Pause pause(&w.watch);
    const StallWatch::Pause another(&w.watch);
    w.pass(49);
    CHECK(w.raised.empty());
    w.pass(951);
  }
  const std::size_t paused = w.raised.size();
  CHECK(paused >= 950);
  CHECK(std::ranges::all_of(w.raised, &Stall::paused));
  w.pass(90);
  CHECK(w.raised.size() == paused);
  w.pass(20);
  REQUIRE(w.raised.size() == paused + 1);
  CHECK_FALSE(w.raised.back().paused);
}

TEST_CASE("a job that was suspended has not waited", "[stalls]") {
  Watched w;
  const StallWatch::Waiting waiting(&w.watch, "MPI_Allreduce");
  for (int i = 0; i < 10; ++i) {
    w.clock.move(10000);  // the watch does not look meanwhile
    w.pass(1);
  }
  CHECK(w.raised.empty());
  w.pass(100);
  CHECK(w.raised.size() == 1);
}

TEST_CASE("without a watch nothing is noted", "[stalls]") {
  const StallWatch::Doing doing(nullptr, Activity::update, 1);
  const StallWatch::Waiting waiting(nullptr, "MPI_Allreduce");
  const StallWatch::Pause pause(nullptr);
}

TEST_CASE("the watch's own thread looks by itself and ends with the watch", "[stalls]") {
  const SteadyClock clock;
  std::promise<Stall> raised;
  StallWatch watch(clock, 0.05, [&](const Stall& stall) { raised.set_value(stall); });
  watch.start();
  const StallWatch::Waiting waiting(&watch, "MPI_Allreduce");
  CHECK(raised.get_future().get().what == "MPI_Allreduce");
}

TEST_CASE("a stall's line names the rank, the ranks it waits for, and stopped ranks", "[stalls]") {
  Stall stall{300.2, "messages", {1}, Activity::wait_for_panel, 12};
  CHECK(words(stall) ==
        "rank 0 on a has waited 300 s for rank 1 on a (wait for panel, step 12; messages)");
  CHECK(words(stall, {'R', 'T', '\0', '\0', '\0', '\0'}) ==
        "rank 0 on a has waited 300 s for rank 1 on a (wait for panel, step 12; messages); rank 1 "
        "on a is stopped (process 12)");
  stall.ranks = {0, 1, 2, 3, 4, 5};
  stall.activity.reset();
  stall.what = "MPI_Allreduce";
  CHECK(words(stall, {'S', 'S', 'D', 'Z', 't', 'R'}) ==
        "rank 0 on a has waited 300 s for rank 1 on a, rank 2 on b, rank 3 on b, rank 4 on c and 1 "
        "more (MPI_Allreduce); rank 2 on b is held by the system (a device or a file) (process 13)"
        "; rank 3 on b is dead (process 14); rank 4 on c is stopped by a debugger (process 15)");
  stall = {5, "the GPU", {}, Activity::solve, -1};
  CHECK(words(stall) == "rank 0 on a has waited 5 s for the GPU (solve)");
}
}  // namespace speedwell::test::stall_watch_tests
