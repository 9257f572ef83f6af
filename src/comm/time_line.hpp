// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// One time line of all ranks, whose clocks began at different moments and run at slightly
/// different rates.
#pragma once

#include "comm/communicator.hpp"
#include "core/clock.hpp"

namespace lupine {

/// Brings times of this rank's clock to rank 0's. Before and after what is to be compared, each
/// rank sends its time to rank 0 and back a few times: the shortest of these ways bounds the error
/// by its half (on one node microseconds, or more where ranks share a core). What is within the
/// error counts as none, so that ranks of one node, with one clock, agree exactly. Between the two
/// readings clocks are taken to drift evenly.
class TimeLine {
 public:
  /// Collective: the first reading.
  TimeLine(const Communicator& all, const Clock& clock);
  /// Collective: the second. Without it there is no drift.
  void end();

  /// Time of rank 0's clock at `time` of this rank's.
  double on_rank_0(double time) const;

 private:
  struct Reading {
    double time = 0;    ///< of this rank's clock
    double offset = 0;  ///< this rank's clock less rank 0's
    double error = 0;   ///< of offset at most
  };
  Reading read() const;

  const Communicator& all_;
  const Clock& clock_;
  Reading first_;
  double drift_ = 0;  ///< seconds that this rank's clock gains on rank 0's in one of its seconds
};

}  // namespace lupine
