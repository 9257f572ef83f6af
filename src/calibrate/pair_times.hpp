// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// What messages between two ranks cost the host, sent as a run sends panels: by MPI_Isend and
/// MPI_Irecv, with a host that tests until they are done.
#pragma once

#include "comm/communicator.hpp"
#include "core/clock.hpp"

namespace speedwell {

struct PairTimes {
  double message = 0;  ///< the host's seconds for starting a small send or receive
  double test = 0;     ///< the host's seconds for a test of messages that have not arrived
};

/// Measures small messages between rank 0 and rank `other`, while the other ranks sleep. The
/// fastest of several measurements counts. Collective; the result is rank 0's on every rank.
PairTimes pair_times(const Communicator& all, int other, const Clock& clock);

}  // namespace speedwell
