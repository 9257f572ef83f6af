// SPDX-License-Identifier: BSD-3-Clause
#include "sensors/energy_meter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

namespace speedwell {

namespace {

// The thread reads so many times in the longest gap of a counter.
constexpr double reads_in_gap = 20;

double unix_time() {
  const std::chrono::duration<double> now = std::chrono::system_clock::now().time_since_epoch();
  return now.count();
}

}  // namespace

EnergyMeter::EnergyMeter(const Clock& clock, std::vector<EnergyCounter> counters,
                         std::size_t phases)
    : clock_(clock) {
  for (EnergyCounter& counter : counters) {
    interval_ = std::min(interval_, counter.longest_gap / reads_in_gap);
    meters_.push_back({std::move(counter), std::vector<Sensed<>>(phases, 0.), clock.now()});
  }
}

void EnergyMeter::start() {
  if (std::isfinite(interval_)) ticker_.start(interval_, [this] { sample(); });
}

Sensed<> EnergyMeter::read(Meter& meter, double now) {
  Sensed<> joules = meter.counter.joules();
  if (!joules) return joules;
  const double gap = now - std::exchange(meter.read, now);
  if (gap > meter.counter.longest_gap && meter.fault.empty())
    meter.fault = fmt::format("not read for {:.3g} s, which is too long for this counter", gap);
  return joules;
}

void EnergyMeter::sample() {
  const std::lock_guard lock(mutex_);
  const double now = clock_.now();
  for (Meter& meter : meters_)
    if (std::isfinite(meter.counter.longest_gap)) read(meter, now);
}

void EnergyMeter::mark(std::optional<std::size_t> phase) {
  const std::lock_guard lock(mutex_);
  const double now = clock_.now();
  for (Meter& meter : meters_) {
    const Sensed<> joules = read(meter, now);
    const Sensed<> before = std::exchange(meter.latest, joules);
    const std::string fault = std::exchange(meter.fault, "");
    if (!phase || !latest_mark_ || !meter.joules[*phase]) continue;
    Sensed<>& sum = meter.joules[*phase];
    if (!before || !joules)
      sum = before ? joules : before;
    else if (!fault.empty())
      sum = Sensed<>::none(fault);
    else if (*joules < *before)
      sum = Sensed<>::none("the counter went back");
    else
      sum = *sum + (*joules - *before);
  }
  const double time = unix_time();
  if (phase && latest_mark_) {
    if (!(unix_times_.first <= *latest_mark_)) unix_times_.first = *latest_mark_;
    unix_times_.second = time;
  }
  latest_mark_ = time;
}

std::vector<MeteredDomain> EnergyMeter::domains() const {
  const std::lock_guard lock(mutex_);
  std::vector<MeteredDomain> found;
  if (!(unix_times_.first <= unix_times_.second)) return found;
  for (const Meter& meter : meters_) found.push_back({meter.counter.domain, meter.joules});
  return found;
}

std::pair<double, double> EnergyMeter::unix_times() const {
  const std::lock_guard lock(mutex_);
  return unix_times_;
}

}  // namespace speedwell
