// SPDX-License-Identifier: BSD-3-Clause
#include "core/stall_watch.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <system_error>
#include <utility>

#include "core/memory_fault.hpp"

namespace speedwell {

namespace {

// The interval between two looks: this part of the limit, and at most this many seconds.
constexpr double part = 0.1;
constexpr double longest = 1;
// One look adds at most this many intervals to a wait.
constexpr double most_intervals = 2;

}  // namespace

StallWatch::StallWatch(const Clock& clock, double limit, Alarm alarm)
    : clock_(clock),
      limit_(limit),
      interval_(std::min(part * limit, longest)),
      alarm_(std::move(alarm)),
      last_(clock.now()) {}

StallWatch::~StallWatch() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void StallWatch::start() {
  try {
    thread_ = std::thread([this] { work(); });
  } catch (const std::system_error& error) {
    throw MemoryFault(std::string("no thread could be started, to watch for ranks that stall: ") +
                      error.what());
  }
}

void StallWatch::work() {
  const std::chrono::duration<double> interval(interval_);
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, interval, [this] { return stop_; })) {
    lock.unlock();
    look();
    lock.lock();
  }
}

void StallWatch::look() {
  if (const std::optional<Stall> stall = judge()) alarm_(*stall);
}

std::optional<Stall> StallWatch::judge() {
  const double now = clock_.now();
  const std::lock_guard lock(mutex_);
  const double passed = std::min(now - last_, most_intervals * interval_);
  last_ = now;
  const std::uint64_t wait = note_.depth > 0 ? note_.wait : 0;
  const bool paused = note_.pauses > 0;
  const bool goes_on = wait != 0 && wait == seen_;
  waited_ = goes_on ? waited_ + passed : 0;
  unpaused_ = goes_on && !paused ? unpaused_ + passed : 0;
  seen_ = wait;
  const double counts = paused ? waited_ : unpaused_;
  if (counts < (paused ? limit_ / 2 : limit_) || raised_) return std::nullopt;
  raised_ = !paused;
  return Stall{counts,
               std::string(note_.what),
               std::vector<int>(note_.ranks.begin(), note_.ranks.end()),
               note_.activity,
               note_.step,
               paused};
}

StallWatch::Doing::Doing(StallWatch* watch, Activity activity, std::int64_t step) : watch_(watch) {
  if (!watch_) return;
  const std::lock_guard lock(watch_->mutex_);
  activity_ = std::exchange(watch_->note_.activity, activity);
  step_ = std::exchange(watch_->note_.step, step);
}

StallWatch::Doing::~Doing() {
  if (!watch_) return;
  const std::lock_guard lock(watch_->mutex_);
  watch_->note_.activity = activity_;
  watch_->note_.step = step_;
}

StallWatch::Waiting::Waiting(StallWatch* watch, std::string_view what, std::span<const int> ranks)
    : watch_(watch) {
  if (!watch_) return;
  const std::lock_guard lock(watch_->mutex_);
  Note& note = watch_->note_;
  if (note.depth++ == 0) ++note.wait;
  what_ = std::exchange(note.what, what);
  ranks_ = std::exchange(note.ranks, ranks);
}

StallWatch::Waiting::~Waiting() {
  if (!watch_) return;
  const std::lock_guard lock(watch_->mutex_);
  Note& note = watch_->note_;
  --note.depth;
  note.what = what_;
  note.ranks = ranks_;
}

StallWatch::Pause::Pause(StallWatch* watch) : watch_(watch) {
  if (!watch_) return;
  const std::lock_guard lock(watch_->mutex_);
  ++watch_->note_.pauses;
}

StallWatch::Pause::~Pause() {
  if (!watch_) return;
  const std::lock_guard lock(watch_->mutex_);
  --watch_->note_.pauses;
}

}  // namespace speedwell
