// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The memory that the ranks of a run have used at most, as measured.
#pragma once

#include <cstdint>
#include <optional>

#include "comm/communicator.hpp"

namespace speedwell {

/// The most that a rank has used of one kind of memory.
struct RankBytes {
  double bytes = 0;
  int rank = 0;  ///< the one that used it
};

/// Nothing where it was not measured on every rank.
struct PeakMemory {
  std::optional<RankBytes> resident;  ///< of a process, its program and libraries included
  std::optional<RankBytes> device;    ///< allocated in the own memory of a rank's device
};

/// Measures what this process has resident at most, from the object's construction on. Only one
/// object at a time: the system has one such number for a process.
class ResidentMeter {
 public:
  ResidentMeter();
  /// Bytes up to now; nothing where the system does not tell them.
  std::optional<std::int64_t> most() const;

 private:
  bool begun_;
};

/// The largest values over all ranks; equal on every rank. Collective.
/// @param device bytes that this rank's device has had at most; nothing if it uses the host's
/// memory
PeakMemory peak_memory(const Communicator& all, const ResidentMeter& resident,
                       std::optional<std::int64_t> device);

}  // namespace speedwell
