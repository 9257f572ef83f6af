// SPDX-License-Identifier: BSD-3-Clause
#include "sensors/ticker.hpp"

#include <chrono>
#include <exception>
#include <system_error>

namespace speedwell {

void Ticker::start(double seconds, const std::function<void()>& step) try {
  thread_ = std::thread([this, seconds, step] { work(seconds, step); });
} catch (const std::system_error&) {  // no thread is left, which ends no run
}

void Ticker::stop() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Ticker::work(double seconds, const std::function<void()>& step) {
  const std::chrono::duration<double> time(seconds);
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, time, [this] { return stop_; })) {
    lock.unlock();
    try {
      step();
    } catch (const std::exception&) {  // no memory for a sample, which ends no run
    }
    lock.lock();
  }
}

}  // namespace speedwell
