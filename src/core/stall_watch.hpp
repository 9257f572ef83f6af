// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Notices when a rank waits and nothing comes.
///
/// The thread that works notes what it waits for; a thread of the watch's own looks at that note
/// and at the clock, and calls nobody else. Waiting alone counts, not computing; and of the time
/// between two looks no more than is usual: a job that was suspended, or got no processor for a
/// while, has not waited.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "core/clock.hpp"

namespace lupine {

enum class Activity : std::uint8_t;

/// A wait that has lasted too long.
struct Stall {
  double seconds = 0;                ///< that it has lasted
  std::string what;                  ///< "MPI_Allreduce", "the GPU"
  std::vector<int> ranks;            ///< that are waited for; empty: not known
  std::optional<Activity> activity;  ///< what this rank was at
  std::int64_t step = -1;            ///< of that; -1: none
};

class StallWatch {
 public:
  using Alarm = std::function<void(const Stall&)>;

  /// @param limit seconds, > 0
  /// @param alarm called once, by whoever looks; may end the program
  StallWatch(const Clock& clock, double limit, Alarm alarm);
  StallWatch(const StallWatch&) = delete;
  StallWatch& operator=(const StallWatch&) = delete;
  ~StallWatch();

  /// From now on a thread looks, often enough.
  void start();
  /// One look; raises the alarm if the present wait has lasted too long. Not from two threads.
  void look();

  /// Says what the rank is at, until its end. A null watch: nothing.
  class Doing {
   public:
    Doing(StallWatch* watch, Activity activity, std::int64_t step);
    ~Doing();
    Doing(const Doing&) = delete;
    Doing& operator=(const Doing&) = delete;

   private:
    StallWatch* watch_;
    std::optional<Activity> activity_;  // before
    std::int64_t step_ = -1;
  };

  /// A wait, until its end. One inside of another says more exactly what for.
  class Waiting {
   public:
    /// @param what a literal
    /// @param ranks must stay as they are meanwhile
    Waiting(StallWatch* watch, std::string_view what, std::span<const int> ranks = {});
    ~Waiting();
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;

   private:
    StallWatch* watch_;
    std::string_view what_;  // before
    std::span<const int> ranks_;
  };

  /// No wait counts until its end: others may take as long as they like.
  class Pause {
   public:
    explicit Pause(StallWatch* watch);
    ~Pause();
    Pause(const Pause&) = delete;
    Pause& operator=(const Pause&) = delete;

   private:
    StallWatch* watch_;
  };

 private:
  struct Note {
    int depth = 0;  // of waits
    int pauses = 0;
    std::uint64_t wait = 0;  // running number of the outermost one
    std::string_view what;
    std::span<const int> ranks;
    std::optional<Activity> activity;
    std::int64_t step = -1;
  };
  std::optional<Stall> judge();
  void work();

  const Clock& clock_;
  double limit_;
  double interval_;
  Alarm alarm_;
  std::mutex mutex_;
  Note note_;
  std::uint64_t seen_ = 0;  // the wait at the look before; 0: none
  double last_ = 0;         // look
  double waited_ = 0;
  bool raised_ = false;
  bool stop_ = false;
  std::condition_variable wake_;
  std::thread thread_;
};

}  // namespace lupine
