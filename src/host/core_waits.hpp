// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// How OpenMP's threads wait for each other on cores that others want too.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace speedwell {

/// What Linux has counted of a thread (/proc/PID/task/TID/schedstat), in nanoseconds.
struct CoreTimes {
  std::int64_t run = 0;   ///< on a core
  std::int64_t wait = 0;  ///< ready to run, while other threads had the core
};
/// Those of threads, by their numbers.
using ThreadTimes = std::map<std::string, CoreTimes>;

/// The largest share, of one thread, of the time in which it was ready or ran that it waited for a
/// core between two readings: 0 to 1. A thread that was ready for less than 20 ms says nothing.
double waiting_share(const ThreadTimes& before, const ThreadTimes& now);

/// Threads of a team wait for each other by spinning, for some milliseconds. While cores are free,
/// that is the fastest way. Where other threads want the cores, of other programs or of this one
/// (NumPy's BLAS), one that spins holds the core that the thread it waits for needs, and a run
/// takes 3 to 10 times as long. So this looks, at most every 50 ms, how long the threads of this
/// process waited for cores; where one did so for a fifth of its time, teams of `threads` threads
/// and more sleep while they wait, for the next second, and while that goes on for up to 8 s.
///
/// GCC's OpenMP spins for a moment only while it has more threads than the process has cores: so
/// another team is made, which sleeps. Nothing is done where the user has set OMP_WAIT_POLICY or
/// GOMP_SPINCOUNT, where a limit leaves no room for threads, and where the system counts no times.
/// A call that comes too early to look takes less than 0.1 microseconds.
/// @pre threads >= 2
void look_at_core_waits(int threads);

/// Whether teams sleep while they wait, by look_at_core_waits().
bool sleeps_while_waiting();

}  // namespace speedwell
