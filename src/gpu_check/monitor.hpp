// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Records the GPU's clocks during the whole check, in memory and in a file.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "samples.hpp"

namespace speedwell::gpu_check {

class Monitor {
 public:
  /// Reads samples on a thread until the destructor, and writes a line for each to `file` at once.
  Monitor(std::unique_ptr<SampleSource> source, const std::string& file);
  Monitor(const Monitor&) = delete;
  Monitor& operator=(const Monitor&) = delete;
  ~Monitor();

  std::string source() const { return source_->name(); }
  /// The summary of the samples from `begin` to `end`, in seconds since 1970; null if there are
  /// none.
  nlohmann::ordered_json between(double begin, double end) const;
  std::size_t samples() const;

 private:
  void watch();
  void keep(const Sample& sample);

  std::unique_ptr<SampleSource> source_;
  int file_;
  mutable std::mutex mutex_;
  std::vector<Sample> samples_;
  std::atomic<bool> stopped_ = false;
  std::thread thread_;
};

}  // namespace speedwell::gpu_check
