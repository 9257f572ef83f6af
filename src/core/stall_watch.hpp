// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Finds a wait that has lasted too long.
///
/// The working thread records what it waits for. The watch's own thread looks at that record and at
/// the clock once per interval. Only waiting counts, not computing. Each look adds at most two
/// intervals to the wait, so a job that was suspended, or got no processor for a while, is not
/// taken for one that waited.
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

namespace speedwell {

enum class Activity : std::uint8_t;

/// A wait that has lasted too long.
struct Stall {
  double seconds = 0;                ///< duration of the wait so far
  std::string what;                  ///< the call or thing waited for: "MPI_Allreduce", "the GPU"
  std::vector<int> ranks;            ///< the ranks waited for; empty if not known
  std::optional<Activity> activity;  ///< what this rank is doing
  std::int64_t step = -1;            ///< step of that activity; -1: none
  bool paused = false;               ///< the wait may take any time: see StallWatch::Pause
};

/// The watch of one rank. Each constructor of Doing, Waiting and Pause takes a pointer to the
/// watch, and does nothing if that is null.
class StallWatch {
 public:
  using Alarm = std::function<void(const Stall&)>;

  /// @param limit seconds that one wait may last, > 0
  /// @param alarm is called on the thread that calls look(), and may end the program: once for a
  ///        wait that is not paused; for one that is, at each look after half of the limit
  StallWatch(const Clock& clock, double limit, Alarm alarm);
  StallWatch(const StallWatch&) = delete;
  StallWatch& operator=(const StallWatch&) = delete;
  ~StallWatch();

  /// Starts the thread that calls look(): ten times within the limit, and at least once a second.
  void start();
  /// Raises the alarm if the present wait has lasted too long. Only one thread may call this; after
  /// start(), that is the watch's own thread.
  void look();

  /// Records what the rank is doing, from the constructor to the destructor.
  class Doing {
   public:
    Doing(StallWatch* watch, Activity activity, std::int64_t step);
    ~Doing();
    Doing(const Doing&) = delete;
    Doing& operator=(const Doing&) = delete;

   private:
    StallWatch* watch_;
    std::optional<Activity> activity_;  // the enclosing Doing's, put back by the destructor
    std::int64_t step_ = -1;
  };

  /// Records a wait, from the constructor to the destructor. A wait inside another one makes `what`
  /// and `ranks` more exact; time counts from the beginning of the outermost one.
  class Waiting {
   public:
    /// @param what a string literal, since only the view is kept
    /// @param ranks the ranks waited for; must stay valid and unchanged during the wait
    Waiting(StallWatch* watch, std::string_view what, std::span<const int> ranks = {});
    ~Waiting();
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;

   private:
    StallWatch* watch_;
    std::string_view what_;  // the enclosing Waiting's, put back by the destructor
    std::span<const int> ranks_;
  };

  /// From the constructor to the destructor, waits are paused: other ranks may take any time, such
  /// as for reading a file, unless they are stopped.
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
    int depth = 0;  // number of Waiting objects that exist now
    int pauses = 0;
    std::uint64_t wait = 0;  // running number of the outermost wait
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
  std::uint64_t seen_ = 0;  // number of the wait at the previous look; 0: there was none
  double last_ = 0;         // time of the previous look
  double waited_ = 0;       // seconds that the present wait has lasted
  double unpaused_ = 0;     // of these, those since the last pause
  bool raised_ = false;
  bool stop_ = false;
  std::condition_variable wake_;
  std::thread thread_;
};

}  // namespace speedwell
