// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// What a fork() of another thread waits for. A child has the memory of its parent, but none of the
/// threads that were at work in it: a lock that one held stays locked, and what one began to make
/// is never ready, so the child would wait for ever at its first call.
#pragma once

#include <atomic>
#include <mutex>

namespace speedwell {

/// Holds up every fork() of another thread while the lock lives. For short work that waits for no
/// other process; one thread at a time has it.
std::unique_lock<std::recursive_mutex> hold_forks();

/// A call of a library that takes locks for a moment, as OpenBLAS does for memory at the beginning
/// of a routine. Many threads have one at a time. A fork() waits for their ends, and new ones for
/// the fork; but it waits 50 ms at most, since a call that is older has its locks behind it.
class AheadOfForks {
 public:
  AheadOfForks();
  ~AheadOfForks();
  AheadOfForks(const AheadOfForks&) = delete;
  AheadOfForks& operator=(const AheadOfForks&) = delete;
};

/// A value that its first user makes, while forks wait; kept to the end of the process. A static
/// variable that takes long to make is one, since a child of fork() may find another half made.
template <class T>
class MadeOnce {
 public:
  constexpr explicit MadeOnce(T (*make)()) : make_(make) {}

  const T& get() {
    if (const T* known = value_.load(std::memory_order_acquire)) return *known;
    const auto no_forks = hold_forks();
    if (value_.load(std::memory_order_relaxed) == nullptr)
      value_.store(new T(make_()), std::memory_order_release);
    return *value_.load(std::memory_order_relaxed);
  }

 private:
  T (*make_)();
  std::atomic<const T*> value_ = nullptr;
};

}  // namespace speedwell
