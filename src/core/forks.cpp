// SPDX-License-Identifier: BSD-3-Clause
#include "core/forks.hpp"

#include <pthread.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <thread>

namespace speedwell {

namespace {

// Calls that run now. Each thread counts in one place of several, since all threads of a team count
// at once.
struct alignas(64) Calls {
  std::atomic<int> running = 0;
};
void before_fork();
void after_fork();
void in_child();

struct State {
  State() { pthread_atfork(before_fork, after_fork, in_child); }

  // A child gets another one: the thread that holds its copy has another number there, and could
  // not unlock it.
  std::recursive_mutex* forks = new std::recursive_mutex;
  std::atomic<bool> is_forking = false;
  std::array<Calls, 64> calls;
  std::atomic<std::size_t> threads = 0;  // that have counted
};

State& state() {
  static State state;
  return state;
}

std::atomic<int>& own_calls() {
  thread_local const std::size_t place = state().threads++ % state().calls.size();
  return state().calls[place].running;
}

void await_calls() {
  constexpr std::chrono::milliseconds longest{50};
  const auto end = std::chrono::steady_clock::now() + longest;
  const auto is_done = [](const Calls& some) { return some.running == 0; };
  while (!std::ranges::all_of(state().calls, is_done) && std::chrono::steady_clock::now() < end)
    std::this_thread::yield();
}

void before_fork() {
  state().forks->lock();
  state().is_forking = true;
  await_calls();
}
void after_fork() {
  state().is_forking = false;
  state().forks->unlock();
}
void in_child() {
  state().forks = new std::recursive_mutex;
  for (Calls& some : state().calls) some.running = 0;
  state().is_forking = false;
}

// Made as the library is loaded, before there are threads that fork.
[[maybe_unused]] const bool is_made = state().forks != nullptr;

}  // namespace

std::unique_lock<std::recursive_mutex> hold_forks() {
  return std::unique_lock(*state().forks);
}

AheadOfForks::AheadOfForks() {
  std::atomic<int>& running = own_calls();
  while (true) {
    ++running;
    if (!state().is_forking) return;
    --running;
    hold_forks();  // until the fork is over
  }
}

AheadOfForks::~AheadOfForks() {
  --own_calls();
}

}  // namespace speedwell
