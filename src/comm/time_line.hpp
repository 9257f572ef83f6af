// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// One time line for all ranks. Their clocks began at different moments and run at slightly
/// different rates.
#pragma once

#include "comm/communicator.hpp"
#include "core/clock.hpp"

namespace speedwell {

/// Converts times of this rank's clock to times of rank 0's clock. Two readings, before and after
/// the work whose times are compared, find the offset of the clocks: rank 0 asks each rank for its
/// time, several times. The error is at most half of the shortest round trip: microseconds on one
/// node, or more where ranks share a core. An offset within the error counts as 0, so that ranks
/// of one node, which have one clock, agree exactly. Between the readings the offset is assumed to
/// change at a constant rate.
class TimeLine {
 public:
  /// Makes the first reading. Collective. `all` and `clock` must outlive this object.
  TimeLine(const Communicator& all, const Clock& clock);
  /// Makes the second reading. Collective. Without it, the offset is assumed to be constant.
  void end();

  /// The time on rank 0's clock, in seconds, when this rank's clock shows `time`.
  double on_rank_0(double time) const;

 private:
  struct Reading {
    double time = 0;    ///< of this rank's clock, in seconds
    double offset = 0;  ///< this rank's time minus rank 0's, in seconds
    double error = 0;   ///< the largest error that `offset` can have, in seconds
  };
  Reading read() const;

  const Communicator& all_;
  const Clock& clock_;
  Reading first_;
  double drift_ = 0;  ///< seconds that this rank's clock gains on rank 0's in one of its seconds
};

}  // namespace speedwell
