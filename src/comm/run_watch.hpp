// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Ends all ranks of a run when one of them has waited too long.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "comm/communicator.hpp"
#include "core/clock.hpp"
#include "core/stall_watch.hpp"

namespace speedwell {

/// Where a rank runs: its host's name and its process number there.
struct RankPlace {
  std::string host;
  std::int64_t process = 0;
};

/// One line for a person: which rank has waited how long, for which ranks, in which activity, and
/// which ranks are stopped or dead.
/// @param states states[r] is the state of rank r's process, a letter of proc(5) ('T': stopped); 0
///        if it is not known
std::string stall_words(const Stall& stall, int rank, const std::vector<RankPlace>& places,
                        const std::vector<char>& states);

/// The watch of one run. A rank that has waited for longer than the limit writes one line to
/// standard error, and ends all ranks with exit status 3; where the wait may take any time, only if
/// another rank of this host has been stopped or dead in the second half of that.
class RunWatch {
 public:
  /// Collective over `comm`, and a wait of its own: the ranks come to it together.
  /// @param limit seconds that one wait may last; 0: there is no watch
  RunWatch(CommHandle comm, const Clock& clock, double limit);
  RunWatch(const RunWatch&) = delete;
  RunWatch& operator=(const RunWatch&) = delete;

  /// The watch in which waits are recorded; null if the limit is 0.
  StallWatch* stalls() const { return watch_.get(); }
  /// Sets a function that is called before the ranks are ended. It runs on its own thread, for at
  /// most 5 seconds, since it may hang. Where the present one is being called, this waits for it.
  void before_end(std::function<void()> hook);

 private:
  void end(const Stall& stall);
  bool is_halted(const Stall& stall);

  std::mutex mutex_;  // of all others: the watch's thread may be ending the run
  std::optional<Communicator> all_;
  std::vector<RankPlace> places_;
  double limit_;
  std::optional<double> halted_;  // Stall::seconds of a paused wait when a rank was first seen so
  std::function<void()> hook_;
  std::unique_ptr<StallWatch> watch_;
};

/// The watch of one process while it meets the other ranks, or parts from them: MPI_Init and
/// MPI_Finalize wait without end for one that is stopped. It writes one line to standard error,
/// which names the processes of the same launcher on this host that are stopped or dead, and ends
/// the process with exit status 3; the launcher ends the others then.
class ProcessWatch {
 public:
  /// @param limit seconds that this may take; 0: there is no watch
  /// @param purpose what the other ranks are waited for: "to start"
  /// @param call the call of MPI that waits
  ProcessWatch(double limit, const std::string& purpose, const char* call);
  ProcessWatch(const ProcessWatch&) = delete;
  ProcessWatch& operator=(const ProcessWatch&) = delete;

 private:
  SteadyClock clock_;
  std::unique_ptr<StallWatch> watch_;
  std::optional<StallWatch::Waiting> waiting_;
};

}  // namespace speedwell
