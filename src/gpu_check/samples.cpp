// SPDX-License-Identifier: BSD-3-Clause
#include "samples.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <cstdlib>
#include <sstream>
#include <string_view>
#include <utility>

#include "child.hpp"
#include "sensors/nvml.hpp"

namespace speedwell::gpu_check {

namespace {

using nlohmann::ordered_json;

/// The GPU with this UUID, or else the first one, as far as NVML tells its clock.
std::optional<GpuSensor> find_gpu(const std::string& uuid) {
  std::optional<GpuSensor> found = nvml().gpu(uuid).value();
  const std::vector<GpuSensor> gpus = nvml().gpus();
  if (!found && !gpus.empty()) found = gpus.front();
  if (found && !found->read().sm_mhz) found.reset();
  return found;
}

Sample sample_of(const GpuReading& reading) {
  return {wall_time(), reading.sm_mhz.value(), reading.watts.value(), reading.celsius.value(),
          reading.throttle.value()};
}

class NvmlSource final : public SampleSource {
 public:
  explicit NvmlSource(const GpuSensor& gpu) : gpu_(gpu), due_(std::chrono::steady_clock::now()) {}
  std::string name() const override { return "NVML"; }
  std::optional<Sample> next() override {
    const std::chrono::duration<double> left = due_ - std::chrono::steady_clock::now();
    if (left.count() > 0) usleep(static_cast<useconds_t>(left.count() * 1e6));
    due_ = std::chrono::steady_clock::now() +
           std::chrono::milliseconds(static_cast<int>(sample_seconds * 1e3));
    return sample_of(gpu_.read());
  }

 private:
  GpuSensor gpu_;
  std::chrono::steady_clock::time_point due_;
};

/// Samples from nvidia-smi, which prints a line for each.
class SmiSource final : public SampleSource {
 public:
  SmiSource(std::string program, std::string uuid)
      : program_(std::move(program)), wanted_(std::move(uuid)) {}
  std::string name() const override { return "nvidia-smi"; }

  std::optional<Sample> next() override {
    if (!child_ || child_->ended()) start();
    std::string line;
    if (!child_ || !child_->next_line(line, sample_seconds)) {
      if (!child_ || child_->ended()) usleep(static_cast<useconds_t>(sample_seconds * 1e6));
      return std::nullopt;
    }
    const std::optional<Sample> sample = parse(line);
    understood_ = understood_ || sample;
    return sample;
  }

 private:
  // Each driver knows one of these two names of the reasons, and refuses the other.
  static constexpr std::array<const char*, 2> names{"clocks_event_reasons.active",
                                                    "clocks_throttle_reasons.active"};
  static constexpr int most_starts = 20;

  void start() {
    child_.reset();
    if (starts_ >= most_starts) return;
    if (starts_ > 0 && !understood_) name_ = (name_ + 1) % names.size();
    ++starts_;
    std::vector<std::string> command{
        program_,
        fmt::format("--query-gpu=uuid,clocks.sm,power.draw,temperature.gpu,{}", names[name_]),
        "--format=csv,noheader,nounits",
        fmt::format("--loop-ms={}", static_cast<int>(sample_seconds * 1e3))};
    child_ = std::make_unique<Companion>(command);
  }

  /// The sample in a line; nothing if the line is of another GPU or has no clock.
  std::optional<Sample> parse(const std::string& line) {
    Sample sample;
    sample.time = wall_time();
    std::istringstream fields(line);
    std::string uuid;
    std::getline(fields, uuid, ',');
    for (std::optional<double>* value : {&sample.sm_mhz, &sample.watts, &sample.celsius}) {
      std::string text;
      std::getline(fields, text, ',');
      char* end = nullptr;
      const double number = std::strtod(text.c_str(), &end);
      if (end != text.c_str()) *value = number;
    }
    std::string text;
    std::getline(fields, text);
    const std::size_t hex = text.find("0x");
    if (hex != std::string::npos) sample.reasons = std::strtoull(text.c_str() + hex, nullptr, 16);
    if (!sample.sm_mhz || !is_watched(uuid)) return std::nullopt;
    return sample;
  }

  /// Whether this is the GPU that was asked for, or, after a round of lines in which that was not
  /// found, the first GPU.
  bool is_watched(const std::string& uuid) {
    if (watched_.empty() && uuid_begins(uuid, wanted_)) watched_ = uuid;
    if (watched_.empty() && uuid == first_) watched_ = first_;
    if (first_.empty()) first_ = uuid;
    return uuid == watched_;
  }

  std::string program_;
  std::string wanted_;
  std::string first_;
  std::string watched_;
  std::unique_ptr<Companion> child_;
  int starts_ = 0;
  std::size_t name_ = 0;
  bool understood_ = false;
};

ordered_json spread(std::vector<double> values) {
  if (values.empty()) return nullptr;
  std::sort(values.begin(), values.end());
  return {{"min", values.front()}, {"median", values[values.size() / 2]}, {"max", values.back()}};
}

}  // namespace

double wall_time() {
  const std::chrono::duration<double> now = std::chrono::system_clock::now().time_since_epoch();
  return now.count();
}

std::unique_ptr<SampleSource> open_samples(const std::string& uuid) {
  if (const auto gpu = find_gpu(uuid)) return std::make_unique<NvmlSource>(*gpu);
  if (const std::string smi = find_program("nvidia-smi"); !smi.empty())
    return std::make_unique<SmiSource>(smi, uuid);
  return nullptr;
}

std::string names_of_reasons(std::uint64_t reasons) {
  std::string text;
  for (std::size_t bit = 0; bit < throttle_reasons.size(); ++bit) {
    if ((reasons >> bit & 1) == 0) continue;
    if (!text.empty()) text += ' ';
    text += throttle_reasons[bit].name;
  }
  return text;
}

ordered_json summary(const std::vector<Sample>& samples) {
  if (samples.empty()) return nullptr;
  const auto spread_of = [&](std::optional<double> Sample::*field) {
    std::vector<double> values;
    for (const Sample& sample : samples)
      if (sample.*field) values.push_back(*(sample.*field));
    return spread(std::move(values));
  };
  ordered_json reasons = ordered_json::object();
  for (std::size_t bit = 0; bit < throttle_reasons.size(); ++bit) {
    const auto count = std::count_if(samples.begin(), samples.end(), [&](const Sample& sample) {
      return sample.reasons && (*sample.reasons >> bit & 1) != 0;
    });
    if (count > 0)
      reasons[std::string(throttle_reasons[bit].name)] =
          static_cast<double>(count) / static_cast<double>(samples.size());
  }
  return {{"samples", samples.size()},
          {"sm_mhz", spread_of(&Sample::sm_mhz)},
          {"power_watts", spread_of(&Sample::watts)},
          {"temperature_c", spread_of(&Sample::celsius)},
          {"reasons", reasons}};
}

}  // namespace speedwell::gpu_check
