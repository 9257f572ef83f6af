// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Ends all ranks of a run in which one waits too long.
#pragma once

#include <mpi.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "comm/communicator.hpp"
#include "core/stall_watch.hpp"

namespace lupine {

/// Where a rank runs.
struct RankPlace {
  std::string host;
  std::int64_t process = 0;
};

/// One line: who waits how long for whom, at what; and which ranks of this node are stopped.
/// @param states[r] of a process, as proc(5) has it ('T': stopped); 0: not known
std::string stall_words(const Stall& stall, int rank, const std::vector<RankPlace>& places,
                        const std::vector<char>& states);

/// The watch of one run. When a wait of a rank lasts longer than the limit, that rank writes one
/// line to standard error and ends all with status 3.
class RunWatch {
 public:
  /// Collective over `comm`. @param limit seconds; 0: nothing is watched
  RunWatch(MPI_Comm comm, const Clock& clock, double limit);
  RunWatch(const RunWatch&) = delete;
  RunWatch& operator=(const RunWatch&) = delete;

  /// For what notes its waits; null where nothing is watched.
  StallWatch* stalls() const { return watch_.get(); }
  /// What is called before the end, on a thread of its own: it may hang.
  void before_end(std::function<void()> hook) { hook_ = std::move(hook); }

 private:
  [[noreturn]] void end(const Stall& stall) const;

  Communicator all_;
  std::vector<RankPlace> places_;
  std::function<void()> hook_;
  std::unique_ptr<StallWatch> watch_;
};

}  // namespace lupine
