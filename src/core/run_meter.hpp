// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Something that is measured beside a run, stage by stage.
#pragma once

#include <cstdint>
#include <string>

namespace speedwell {

enum class Activity : std::uint8_t;
class Trace;

/// Is told what a run does, by the thread that runs it.
class RunMeter {
 public:
  virtual ~RunMeter() = default;
  /// The run computes on this GPU. @param identity as in DeviceMemory; empty: on none
  /// @param name "GPU 3"
  virtual void uses_gpu(const std::string& identity, const std::string& name) = 0;
  virtual void stage_begins() = 0;
  /// The stage that began last has ended, whether by an exception or not.
  virtual void stage_ends(Activity stage) = 0;
  /// Adds what was sampled up to now.
  virtual void add_samples(Trace& trace) const = 0;
};

}  // namespace speedwell
