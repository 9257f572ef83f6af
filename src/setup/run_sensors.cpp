// SPDX-License-Identifier: BSD-3-Clause
#include "setup/run_sensors.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "core/numbers.hpp"
#include "core/trace.hpp"
#include "setup/monitor_text.hpp"

namespace speedwell {

namespace {

using nlohmann::json;

/// Values of samples that rank 0 gets from all ranks at most, and samples that a rank may take.
constexpr std::size_t most_values = std::size_t{1} << 21;
constexpr std::size_t values_a_sample = 10;
constexpr std::size_t least_samples = 16;

const std::vector<std::string>& phase_names() {
  static const std::vector<std::string> names{"lu", "refinement"};
  return names;
}

/// The phase in which a stage's energy is counted; nothing for what is not timed.
std::optional<std::size_t> phase_of(Activity stage) {
  switch (stage) {
    case Activity::factorization:
      return 0;
    case Activity::refinement:
    case Activity::solution:
      return 1;
    default:
      return std::nullopt;
  }
}

json json_of(const MeteredDomain& metered) {
  json joules = json::array();
  for (const Sensed<>& phase : metered.joules)
    joules.push_back(phase ? json(*phase) : json(phase.why_none()));
  return {{"name", metered.domain.name},
          {"kind", metered.domain.kind},
          {"source", metered.domain.source},
          {"joules", std::move(joules)}};
}

MeteredDomain domain_of(const json& from) {
  MeteredDomain metered{{from.at("name"), from.at("kind"), from.at("source")}, {}};
  for (const json& phase : from.at("joules"))
    metered.joules.push_back(phase.is_number() ? Sensed<>(phase.get<double>())
                                               : Sensed<>::none(phase.get<std::string>()));
  return metered;
}

}  // namespace

RunSensors::RunSensors(const Communicator& all, std::optional<MonitorOptions> monitor,
                       SystemFiles files)
    : files_(std::move(files)),
      reads_node_(all.split_node().rank() == 0),
      options_(std::move(monitor)) {
  if (options_) {
    const auto share = most_values / values_a_sample / static_cast<std::size_t>(all.size());
    options_->capacity = std::clamp(share, least_samples, options_->capacity);
  }
  prepare();
}

void RunSensors::uses_gpu(const std::string& identity, const std::string& name) {
  gpu_ = identity;
  gpu_name_ = name;
  prepare();
}

// Before anything is timed: opening NVML may take a second.
void RunSensors::prepare() {
  meter_.reset();
  auto counters = reads_node_ ? node_energy(files_) : std::vector<EnergyCounter>();
  if (!gpu_.empty()) counters.push_back(gpu_energy(nvml().gpu(gpu_), gpu_name_));
  meter_.emplace(clock_, std::move(counters), phase_names().size());
  meter_->start();
}

void RunSensors::start_monitor() {
  if (!options_ || monitor_) return;
  std::vector<Monitor::Gpu> gpus;
  if (!gpu_.empty()) gpus.push_back({gpu_name_, nvml().gpu(gpu_)});
  monitor_.emplace(clock_, std::move(gpus),
                   reads_node_ ? std::optional(CpuSensor(files_)) : std::nullopt, *options_);
  monitor_->start();
}

void RunSensors::add_samples(Trace& trace) const {
  if (!monitor_) return;
  const MonitorRecord record = monitor_->record();
  for (const MonitorSeries& series : record.series)
    for (std::size_t i = 0; i < series.values.size(); ++i)
      if (const double value = series.values[i]; value - value == 0)
        trace.add(trace_counter(series.device + " " + std::string(traits(series.quantity).name),
                                record.times[i], value));
}

// Without memory for it, there are no figures.
void RunSensors::mark(std::optional<std::size_t> phase) noexcept try {
  if (!meter_) return;
  start_monitor();
  meter_->mark(phase);
} catch (...) {
  meter_.reset();
}

void RunSensors::stage_begins() {
  mark(std::nullopt);
}

void RunSensors::stage_ends(Activity stage) {
  mark(phase_of(stage));
}

SensorReport RunSensors::take(const Communicator& all) {
  json mine = {{"host", host_name()}, {"gpu", gpu_}, {"domains", json::array()}};
  std::pair<double, double> times{unknown, unknown};
  if (meter_) {
    for (const MeteredDomain& metered : meter_->domains())
      mine["domains"].push_back(json_of(metered));
    times = meter_->unix_times();
  }
  prepare();
  const std::vector<std::string> texts = all.all_gather(mine.dump());
  std::vector<EnergyPart> parts;
  std::set<std::pair<std::string, std::string>> known;  // GPUs that several ranks read
  for (std::size_t rank = 0; rank < texts.size(); ++rank) {
    const json from = json::parse(texts[rank]);
    const std::string host = from.at("host");
    const bool is_new = known.emplace(host, from.at("gpu")).second;
    for (const json& domain : from.at("domains")) {
      MeteredDomain metered = domain_of(domain);
      if (metered.domain.kind == EnergyKind::gpu &&
          metered.domain.source != EnergySource::pm_counters && !is_new)
        continue;
      parts.push_back({std::move(metered), host, static_cast<int>(rank)});
    }
  }
  SensorReport report{energy_report(phase_names(), std::move(parts), times.first, times.second),
                      {}};
  if (!options_) return report;
  const std::string samples =
      monitor_ ? monitor_text(monitor_->record(), clock_, all.rank(), host_name()) : "";
  monitor_.reset();
  for (const std::vector<char>& one : all.gather(std::vector(samples.begin(), samples.end())))
    report.monitors.emplace_back(one.begin(), one.end());
  return report;
}

}  // namespace speedwell
