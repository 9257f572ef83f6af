// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// What messages between two ranks cost, sent as a run sends panels: by MPI_Isend and MPI_Irecv,
/// with a host that tests until they are done.
#pragma once

#include <cstdint>

#include "comm/communicator.hpp"
#include "core/clock.hpp"

namespace speedwell {

struct PairTimes {
  double latency = 0;    ///< seconds of a message of 0 bytes
  double bandwidth = 0;  ///< bytes a second of a large message, without its latency
  double message = 0;    ///< the host's seconds for starting a small send or receive
  double test = 0;       ///< the host's seconds for a test of messages that have not arrived
};

/// Measures messages between the host memories of rank 0 and rank `other`, while the other ranks
/// sleep. The fastest of several measurements counts. Collective; the result is rank 0's on every
/// rank.
/// @param bytes of the large message, which two ranks allocate
/// @param seconds about how long it takes, unless a few messages take longer
/// @throws AgreedFault where memory is short
PairTimes pair_times(const Communicator& all, int other, std::int64_t bytes, double seconds,
                     const Clock& clock);

}  // namespace speedwell
