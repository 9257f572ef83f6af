// SPDX-License-Identifier: BSD-3-Clause
#include "host/core_waits.hpp"

#include <omp.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "core/expects.hpp"
#include "host/limited_space.hpp"

namespace speedwell {

namespace {

ThreadTimes times_of_threads() {
  ThreadTimes all;
  std::error_code error;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task", error)) {
    CoreTimes times;
    if (std::ifstream(task.path() / "schedstat") >> times.run >> times.wait)
      all.emplace(task.path().filename(), times);
  }
  return all;
}

/// Of the calling thread.
std::chrono::nanoseconds processor_time() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

/// A team of OpenMP that does nothing but make its threads more than the process has cores,
/// together with those of another team.
class SurplusTeam {
 public:
  explicit SurplusTeam(int threads) : thread_([this, threads] { hold(threads); }) {
    made_.get_future().wait();
  }
  ~SurplusTeam() {
    end_.set_value();
    thread_.join();
  }
  SurplusTeam(const SurplusTeam&) = delete;
  SurplusTeam& operator=(const SurplusTeam&) = delete;

 private:
  void hold(int threads) {
    std::atomic<int> made = 0;  // an empty region would be left out
#pragma omp parallel num_threads(threads)
    ++made;
    made_.set_value();
    end_.get_future().wait();
  }

  std::promise<void> made_, end_;
  std::thread thread_;
};

class CoreWaits {
  using Time = std::chrono::steady_clock;

 public:
  bool sleeps() {
    const std::lock_guard lock(mutex_);
    return surplus_.has_value();
  }

  void look(int threads) {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock || Time::now() < next_) return;
    const bool slept = surplus_.has_value();
    surplus_.reset();  // how long do they wait where they spin?
    const std::chrono::nanoseconds begin = processor_time();
    ThreadTimes now = times_of_threads();
    Time::duration pause = std::max(shortest_pause, 200 * (processor_time() - begin));
    if (!slept && !before_.empty()) {  // others run while a process starts
      const int missing = std::max(0, omp_get_num_procs() - threads) + 2;
      if (waiting_share(before_, now) > most && !is_space_limited() && can_start(missing)) {
        surplus_.emplace(missing);
        pause = sleep_;
        sleep_ = std::min(2 * sleep_, longest_sleep);
      } else {
        sleep_ = first_sleep;
      }
    }
    before_ = std::move(now);
    next_ = Time::now() + pause;
  }

 private:
  static constexpr double most = 0.2;
  static constexpr Time::duration shortest_pause = std::chrono::milliseconds(50);
  static constexpr Time::duration first_sleep = std::chrono::seconds(1);
  static constexpr Time::duration longest_sleep = std::chrono::seconds(8);

  std::mutex mutex_;
  Time::time_point next_;
  Time::duration sleep_ = first_sleep;  // the next one
  ThreadTimes before_;
  std::optional<SurplusTeam> surplus_;
};

CoreWaits& core_waits() {
  static CoreWaits& waits = *new CoreWaits;  // its thread may outlive everything else
  return waits;
}

bool is_chosen_by_user() {
  static const bool is_chosen =
      std::getenv("OMP_WAIT_POLICY") != nullptr || std::getenv("GOMP_SPINCOUNT") != nullptr;
  return is_chosen;
}

}  // namespace

double waiting_share(const ThreadTimes& before, const ThreadTimes& now) {
  constexpr std::int64_t least = 20'000'000;
  double most = 0;
  for (const auto& [thread, times] : now) {
    const auto known = before.find(thread);
    const CoreTimes begin = known == before.end() ? CoreTimes{} : known->second;
    const std::int64_t wait = times.wait - begin.wait;
    const std::int64_t ready = wait + times.run - begin.run;
    if (ready >= least)
      most = std::max(most, static_cast<double>(wait) / static_cast<double>(ready));
  }
  return most;
}

void look_at_core_waits(int threads) {
  SPEEDWELL_EXPECTS(threads >= 2);
  if (!is_chosen_by_user()) core_waits().look(threads);
}

bool sleeps_while_waiting() {
  return core_waits().sleeps();
}

}  // namespace speedwell
