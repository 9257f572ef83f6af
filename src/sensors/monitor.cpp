// SPDX-License-Identifier: BSD-3-Clause
#include "sensors/monitor.hpp"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "core/expects.hpp"

namespace speedwell {

namespace {

constexpr std::array<QuantityTraits, 10> quantity_traits{{
    {"power_watts", "power", "W"},
    {"temperature_c", "temperature", "C"},
    {"utilization", "utilization", ""},
    {"memory_utilization", "utilization of the memory", ""},
    {"sm_mhz", "SM clock", "MHz"},
    {"memory_mhz", "memory clock", "MHz"},
    {"pcie_generation", "PCIe generation", ""},
    {"pcie_width", "PCIe lanes", ""},
    {"cpu_mhz", "CPU clock", "MHz"},
    {"cpu_load", "CPU load", ""},
}};
constexpr std::size_t of_gpu = static_cast<std::size_t>(Quantity::cpu_clock);

/// The figures of a GPU in the order of Quantity.
std::array<const Sensed<>*, of_gpu> figures(const GpuReading& r) {
  return {&r.watts,  &r.celsius,    &r.utilization,     &r.memory_utilization,
          &r.sm_mhz, &r.memory_mhz, &r.pcie_generation, &r.pcie_width};
}

GpuReading reading_of(const Sensed<GpuSensor>& sensor) {
  if (sensor) return sensor->read();
  const Sensed<> none = Sensed<>::none(sensor.why_none());
  const auto no_bits = Sensed<std::uint64_t>::none(sensor.why_none());
  return {none, none, none, none, none, none, no_bits, none, none};
}

GpuState state_of(const Sensed<GpuSensor>& sensor) {
  return sensor ? sensor->state() : GpuState();
}

}  // namespace

const QuantityTraits& traits(Quantity quantity) {
  return quantity_traits[static_cast<std::size_t>(quantity)];
}

Monitor::Monitor(const Clock& clock, std::vector<Gpu> gpus, std::optional<CpuSensor> cpus,
                 MonitorOptions options)
    : clock_(clock),
      gpus_(std::move(gpus)),
      cpus_(std::move(cpus)),
      options_(std::move(options)),
      warned_(gpus_.size()) {
  SPEEDWELL_EXPECTS(options_.seconds > 0 && options_.capacity >= 2);
  record_.seconds = options_.seconds;
  for (const Gpu& gpu : gpus_) {
    for (std::size_t i = 0; i < of_gpu; ++i)
      record_.series.push_back({gpu.name, static_cast<Quantity>(i)});
    record_.gpus.push_back({gpu.name});
    record_.gpus.back().before = state_of(gpu.sensor);
  }
  if (cpus_)
    for (const Quantity quantity : {Quantity::cpu_clock, Quantity::cpu_load})
      record_.series.push_back({"CPUs", quantity});
}

void Monitor::start() {
  sample();  // so that the shortest run has one
  ticker_.start(options_.seconds, [this] { sample(); });
}

void Monitor::sample() {
  const double now = clock_.now();
  std::vector<GpuReading> readings;
  for (const Gpu& gpu : gpus_) readings.push_back(reading_of(gpu.sensor));
  const CpuReading cpus = cpus_ ? cpus_->read() : CpuReading();
  {
    const std::lock_guard lock(mutex_);
    const bool keep = record_.taken++ % stride_ == 0;
    if (keep) record_.times.push_back(now);
    std::size_t series = 0;
    for (std::size_t i = 0; i < readings.size(); ++i) {
      for (const Sensed<>* figure : figures(readings[i])) add(series++, *figure, now, keep);
      add_throttle(record_.gpus[i], readings[i].throttle);
    }
    if (cpus_)
      for (const Sensed<>* figure : {&cpus.mhz, &cpus.load}) add(series++, *figure, now, keep);
    if (record_.times.size() > options_.capacity) thin_out();
  }
  for (std::size_t i = 0; i < readings.size(); ++i) warn(i, readings[i]);
}

void Monitor::add(std::size_t series, const Sensed<>& figure, double now, bool keep) {
  MonitorSeries& one = record_.series[series];
  if (keep) one.values.push_back(figure ? *figure : unknown);
  if (!figure) {
    one.why_none = figure.why_none();
    return;
  }
  ++one.count;
  if (one.count == 1 || *figure < one.minimum) {
    one.minimum = *figure;
    one.minimum_time = now;
  }
  if (one.count == 1 || *figure > one.maximum) {
    one.maximum = *figure;
    one.maximum_time = now;
  }
  one.mean =
      one.count == 1 ? *figure : one.mean + (*figure - one.mean) / static_cast<double>(one.count);
}

void Monitor::add_throttle(MonitoredGpu& gpu, const Sensed<std::uint64_t>& throttle) {
  if (!throttle) {
    gpu.why_no_throttle = throttle.why_none();
    return;
  }
  ++gpu.throttle_samples;
  for (std::size_t bit = 0; bit < throttle_reasons.size(); ++bit)
    gpu.throttled[bit] += static_cast<std::int64_t>(*throttle >> bit & 1);
}

void Monitor::thin_out() {
  const auto thin = [](std::vector<double>& values) {
    for (std::size_t i = 0; 2 * i < values.size(); ++i) values[i] = values[2 * i];
    values.resize((values.size() + 1) / 2);
  };
  thin(record_.times);
  for (MonitorSeries& series : record_.series) thin(series.values);
  stride_ *= 2;
}

void Monitor::warn(std::size_t gpu, const GpuReading& reading) {
  if (!options_.warn) return;
  const auto judge = [&](Quantity quantity, bool below, const Sensed<>& figure,
                         const std::optional<double>& limit, bool& warned) {
    if (warned || !limit || !figure || (below ? *figure >= *limit : *figure <= *limit)) return;
    warned = true;
    const std::string why = reading.throttle ? throttle_words(*reading.throttle) : "";
    const QuantityTraits& q = traits(quantity);
    options_.warn(fmt::format("{}: {} {:.6g} {}, {} {:.6g} {}{}", gpus_[gpu].name, q.words, *figure,
                              q.unit, below ? "below" : "above", *limit, q.unit,
                              why.empty() ? "" : fmt::format(" ({})", why)));
  };
  const MonitorLimits& limits = options_.limits;
  const bool idle = reading.throttle && (*reading.throttle & throttle_idle) != 0;
  judge(Quantity::temperature, false, reading.celsius, limits.celsius_above, warned_[gpu].celsius);
  judge(Quantity::power, false, reading.watts, limits.watts_above, warned_[gpu].watts);
  if (!idle)
    judge(Quantity::sm_clock, true, reading.sm_mhz, limits.sm_mhz_below, warned_[gpu].sm_mhz);
}

MonitorRecord Monitor::record() const {
  MonitorRecord record;
  {
    const std::lock_guard lock(mutex_);
    record = record_;
  }
  for (std::size_t i = 0; i < gpus_.size(); ++i) record.gpus[i].after = state_of(gpus_[i].sensor);
  return record;
}

}  // namespace speedwell
