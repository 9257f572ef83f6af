// SPDX-License-Identifier: BSD-3-Clause
#include "core/forks.hpp"

#include <pthread.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <thread>

namespace lupine {

namespace {

// Calls that run now. Each thread counts in one place of several, since all threads of a team count
// at once.
struct alignas(64) Calls {
  std::atomic<int> running = 0;
};
constinit std::array<Calls, 64> calls;
constinit std::atomic<bool> is_forking = false;

std::atomic<int>& own_calls() {
  static constinit std::atomic<std::size_t> threads = 0;
  thread_local const std::size_t place = threads++ % calls.size();
  return calls[place].running;
}

void await_calls() {
  constexpr std::chrono::milliseconds longest{50};
  const auto end = std::chrono::steady_clock::now() + longest;
  const auto is_done = [](const Calls& some) { return some.running == 0; };
  while (!std::ranges::all_of(calls, is_done) && std::chrono::steady_clock::now() < end)
    std::this_thread::yield();
}

// A child gets another one: the thread that holds its copy has another number there, and could not
// unlock it.
std::recursive_mutex*& forks();

void before_fork() {
  forks()->lock();
  is_forking = true;
  await_calls();
}
void after_fork() {
  is_forking = false;
  forks()->unlock();
}
void in_child() {
  forks() = new std::recursive_mutex;
  for (Calls& some : calls) some.running = 0;
  is_forking = false;
}

std::recursive_mutex*& forks() {
  static std::recursive_mutex* one = [] {
    pthread_atfork(before_fork, after_fork, in_child);
    return new std::recursive_mutex;
  }();
  return one;
}

// Made as the library is loaded, before there are threads that fork.
[[maybe_unused]] const std::recursive_mutex* const made = forks();

}  // namespace

std::unique_lock<std::recursive_mutex> hold_forks() {
  return std::unique_lock(*forks());
}

AheadOfForks::AheadOfForks() {
  std::atomic<int>& running = own_calls();
  while (true) {
    ++running;
    if (!is_forking) return;
    --running;
    hold_forks();  // until the fork is over
  }
}

AheadOfForks::~AheadOfForks() {
  --own_calls();
}

}  // namespace lupine
