// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// A thread that sleeps, and does one short step at every tick.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace speedwell {

/// Its thread ends at once, from within a sleep; a step under way is waited for.
class Ticker {
 public:
  Ticker() = default;
  Ticker(const Ticker&) = delete;
  Ticker& operator=(const Ticker&) = delete;
  ~Ticker() { stop(); }

  /// Starts the thread, once. Where none can be started, there are no ticks.
  /// @param seconds between two steps, > 0; the first one comes after that time
  /// @param step if it throws, it is left out
  void start(double seconds, const std::function<void()>& step);
  /// Ends the thread, if there is one.
  void stop();

 private:
  void work(double seconds, const std::function<void()>& step);

  std::mutex mutex_;
  std::condition_variable wake_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace speedwell
