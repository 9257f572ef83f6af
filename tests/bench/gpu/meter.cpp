// SPDX-License-Identifier: BSD-3-Clause
#include "meter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>

#include "core/clock.hpp"
#include "device/cuda/check.hpp"

namespace speedwell {

using nlohmann::ordered_json;

namespace {

constexpr double batch_seconds = 0.25;
constexpr std::int64_t control_bytes = 1024;

/// Seconds since 1970, by which another program finds the GPU's clock at that time.
double wall_time() {
  const std::chrono::duration<double> now = std::chrono::system_clock::now().time_since_epoch();
  return now.count();
}

}  // namespace

MatrixSpec spec_of(std::int64_t n) {
  MatrixSpec spec;
  spec.n = n;
  spec.stride = n | 1;
  spec.shift = std::sqrt(static_cast<double>(n));
  return spec;
}

Meter::Meter(const MeterOptions& options)
    : o_(options),
      device_(make_device({.kind = DeviceKind::cuda})),
      queue_(device_->make_queue(Priority::normal)),
      lane_(Priority::normal),
      control_(device_->allocate(control_bytes)) {
  check(cudaMemsetAsync(control_.data(), 0, control_bytes, lane_.stream()), "cudaMemsetAsync");
  check(cudaStreamSynchronize(lane_.stream()), "cudaStreamSynchronize");
}

void Meter::synchronize() {
  queue_->synchronize();
  check(cudaStreamSynchronize(lane_.stream()), "cudaStreamSynchronize");
}

void Meter::fill(AnyMatrix a, MatrixKind kind) {
  MatrixSpec values = spec_of(std::max(a.rows, a.columns));
  values.kind = kind;
  device_->generate(*queue_, values, Distribution(a.rows, a.rows, 1, 0),
                    Distribution(a.columns, a.columns, 1, 0), a);
  queue_->synchronize();
}

void Meter::prepare(const std::function<void()>& work) {
  const auto rehearse = [this](bool on) {
    device_->rehearse(on);
    products_.rehearse(on);
  };
  rehearse(true);
  work();
  synchronize();
  rehearse(false);
}

/// Work for a quarter of a second is queued at once, so that waiting for its end costs little.
Timing Meter::sustain(double seconds, const std::function<void()>& work) {
  const SteadyClock clock;
  prepare(work);
  double begin = clock.now();
  work();
  synchronize();
  const double once = std::max(clock.now() - begin, 1e-7);
  const auto batch =
      static_cast<std::int64_t>(std::clamp(std::min(batch_seconds, seconds) / once, 1.0, 10000.0));
  Timing timing;
  begin = clock.now();
  while (timing.total < seconds || timing.runs == 0) {
    const double start = clock.now();
    for (std::int64_t i = 0; i < batch; ++i) work();
    synchronize();
    const double each = (clock.now() - start) / static_cast<double>(batch);
    timing.best = timing.runs == 0 ? each : std::min(timing.best, each);
    timing.runs += batch;
    timing.total = clock.now() - begin;
  }
  timing.mean = timing.total / static_cast<double>(timing.runs);
  return timing;
}

Timing Meter::without_copy(AnyMatrix source, AnyMatrix target, const std::function<void()>& work) {
  const Timing copied = sustain(brief() / 4, [&] { device_->copy(*queue_, source, target); });
  Timing timing = sustain(brief(), [&] {
    device_->copy(*queue_, source, target);
    work();
  });
  timing.mean = std::max(timing.mean - copied.mean, timing.mean / 100);
  timing.best = std::max(timing.best - copied.mean, timing.best / 100);
  return timing;
}

void Meter::emit(const ordered_json& line) const {
  if (o_.json) {
    fmt::print("{}\n", line.dump());
  } else {
    fmt::print("{:<58}", line["name"].get<std::string>());
    if (line.contains("rate")) {
      fmt::print(" {:10.2f} {:<10} best {:10.2f}", line["rate"].get<double>(),
                 line["unit"].get<std::string>(), line["best_quarter_second"].get<double>());
      if (line["share"].is_number())
        fmt::print(" {:5.0f} % of {:.2f}", 100 * line["share"].get<double>(),
                   line["floor_rate"].get<double>());
    }
    fmt::print("\n");
  }
  std::fflush(stdout);
}

void Meter::rate(ordered_json line, const Timing& timing, double work, double unit,
                 const std::string& unit_name, double floor) {
  line["rate"] = work / timing.mean / unit;
  line["unit"] = unit_name;
  line["best_quarter_second"] = work / timing.best / unit;
  line["milliseconds"] = timing.mean * 1e3;
  line["seconds"] = timing.total;
  line["ended"] = wall_time();
  line["runs"] = timing.runs;
  line["floor_rate"] = floor > 0 ? ordered_json(floor / unit) : ordered_json();
  line["floor_milliseconds"] = floor > 0 ? ordered_json(work / floor * 1e3) : ordered_json();
  line["share"] = floor > 0 ? ordered_json(work / timing.mean / floor) : ordered_json();
  emit(line);
}

}  // namespace speedwell
