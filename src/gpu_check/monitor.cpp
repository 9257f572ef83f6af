// SPDX-License-Identifier: BSD-3-Clause
#include "monitor.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <utility>

namespace speedwell::gpu_check {

namespace {

void write_line(int file, const std::string& line) {
  if (file < 0) return;
  [[maybe_unused]] const ssize_t written = write(file, line.data(), line.size());
}

std::string text_of(const std::optional<double>& value) {
  return value ? fmt::format("{:.6g}", *value) : "";
}

}  // namespace

Monitor::Monitor(std::unique_ptr<SampleSource> source, const std::string& file)
    : source_(std::move(source)),
      file_(open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666)) {
  write_line(file_, "unix_time,sm_mhz,power_watts,temperature_c,reasons\n");
  thread_ = std::thread([this] { watch(); });
}

Monitor::~Monitor() {
  stopped_ = true;
  thread_.join();
  if (file_ >= 0) close(file_);
}

void Monitor::watch() {
  while (!stopped_)
    if (const std::optional<Sample> sample = source_->next()) keep(*sample);
  source_.reset();  // the thread that used the source must destroy it
}

void Monitor::keep(const Sample& sample) {
  write_line(file_, fmt::format("{:.3f},{},{},{},{}\n", sample.time, text_of(sample.sm_mhz),
                                text_of(sample.watts), text_of(sample.celsius),
                                sample.reasons ? names_of_reasons(*sample.reasons) : ""));
  const std::lock_guard lock(mutex_);
  samples_.push_back(sample);
}

nlohmann::ordered_json Monitor::between(double begin, double end) const {
  std::vector<Sample> found;
  {
    const std::lock_guard lock(mutex_);
    for (const Sample& sample : samples_)
      if (sample.time >= begin && sample.time <= end) found.push_back(sample);
  }
  return summary(found);
}

std::size_t Monitor::samples() const {
  const std::lock_guard lock(mutex_);
  return samples_.size();
}

}  // namespace speedwell::gpu_check
