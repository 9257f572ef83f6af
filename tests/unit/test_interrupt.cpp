// SPDX-License-Identifier: BSD-3-Clause
#include <stdexcept>
#include <thread>
#include <vector>

#include "catch.hpp"
#include "clocks.hpp"
#include "core/run_context.hpp"

namespace speedwell::test::interrupt_tests {
TEST_CASE("an interrupt asks at most every 50 ms, and remembers that it has ended") {
  test::SetClock clock(100);
  int asked = 0;
  bool answer = false;
  Interrupt interrupt([&] { return ++asked, answer; }, clock);
  CHECK_FALSE(interrupt.ended());  // no call of the library has begun
  CHECK(asked == 0);
  interrupt.begin();
  for (int i = 0; i < 3; ++i) CHECK_FALSE(interrupt.ended());
  CHECK(asked == 1);
  clock.time += 0.04;
  CHECK_FALSE(interrupt.ended());
  CHECK(asked == 1);
  clock.time += 0.02;
  CHECK_FALSE(interrupt.ended());
  CHECK(asked == 2);
  answer = true;
  clock.time += 0.06;
  CHECK(interrupt.ended());
  answer = false;
  clock.time += 1;
  CHECK(interrupt.ended());
  CHECK(asked == 3);
  interrupt.finish();
  CHECK(interrupt.ended());
  interrupt.begin();
  CHECK_FALSE(interrupt.ended());
  CHECK(asked == 4);
}

TEST_CASE("other threads than the caller's learn of an interrupt, and do not ask") {
  const test::SetClock clock(100);
  int asked = 0;
  Interrupt interrupt([&] { return ++asked > 0; }, clock);
  interrupt.begin();
  bool seen = true;
  std::thread([&] { seen = interrupt.ended(); }).join();
  CHECK_FALSE(seen);
  CHECK(asked == 0);
  CHECK(interrupt.ended());
  std::thread([&] { seen = interrupt.ended(); }).join();
  CHECK(seen);
}

TEST_CASE("an interrupt keeps the first exception of the caller's functions") {
  const test::SetClock clock(100);
  Interrupt interrupt([]() -> bool { throw std::runtime_error("first"); }, clock);
  interrupt.begin();
  CHECK(interrupt.ended());
  RunContext(clock, nullptr, {.interrupt = &interrupt}).call([] {
    throw std::runtime_error("second");
  });
  CHECK_THROWS_WITH(std::rethrow_exception(interrupt.thrown()), "first");
  interrupt.begin();
  CHECK_FALSE(interrupt.thrown());
  CHECK_THROWS_WITH(RunContext(clock).call([] { throw std::runtime_error("passes"); }), "passes");
}

TEST_CASE("an interrupt tells the other ranks once that it has ended, and hears of theirs") {
  test::SetClock clock(100);
  std::vector<bool> told;
  bool heard = false;
  Interrupt interrupt({}, clock, [&](bool ended) {
    told.push_back(ended);
    return heard;
  });
  interrupt.begin();
  CHECK_FALSE(interrupt.ended());
  heard = true;
  clock.time += 0.06;
  CHECK(interrupt.ended());
  interrupt.end();
  CHECK(interrupt.ended());
  CHECK(told == std::vector<bool>{false, false, true});
}
}  // namespace speedwell::test::interrupt_tests
