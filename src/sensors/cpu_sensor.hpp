// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Frequency and load of the node's processors.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sensors/sensed.hpp"
#include "sensors/system_file.hpp"

namespace speedwell {

struct CpuReading {
  /// The mean over all CPUs of what Linux says of each: for the last few ms on most processors,
  /// what was asked for on others. Idle CPUs count with the others.
  Sensed<> mhz;
  /// Share of the time since the previous reading in which CPUs were busy, by any program; CPUs
  /// are the hardware's threads.
  Sensed<> load;
};

/// Not for two threads at once.
class CpuSensor {
 public:
  explicit CpuSensor(SystemFiles files = SystemFiles());
  /// Opens a small file for each CPU, some 10 us each.
  CpuReading read();

 private:
  struct Times {
    std::uint64_t busy = 0, all = 0;
  };
  Sensed<> megahertz() const;
  Sensed<Times> times() const;

  SystemFiles files_;
  std::vector<std::string> frequency_files_;
  Sensed<Times> last_;
};

}  // namespace speedwell
