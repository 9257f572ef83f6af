// SPDX-License-Identifier: BSD-3-Clause
#include "setup/monitor_text.hpp"

#include <chrono>
#include <nlohmann/json.hpp>

namespace speedwell {

namespace {

using nlohmann::ordered_json;

ordered_json json_of(const GpuState& state) {
  ordered_json all = ordered_json::object();
  for_each_figure(state, [&](const char* name, const Sensed<>& figure) {
    all[name] = figure ? ordered_json(*figure) : ordered_json();
  });
  return all;
}

ordered_json json_of(const MonitoredGpu& gpu) {
  ordered_json throttled = ordered_json::object();
  for (std::size_t i = 0; i < throttle_reasons.size(); ++i)
    if (gpu.throttled[i] > 0) throttled[std::string(throttle_reasons[i].name)] = gpu.throttled[i];
  return {{"device", gpu.device},
          {"throttle_samples", gpu.throttle_samples},
          {"throttled_samples", std::move(throttled)},
          {"why_no_throttle", gpu.why_no_throttle},
          {"before", json_of(gpu.before)},
          {"after", json_of(gpu.after)}};
}

// A NaN becomes null as it is written.
ordered_json json_of(const MonitorSeries& series, double offset) {
  const bool known = series.count > 0;
  const auto or_null = [&](double value) { return known ? ordered_json(value) : ordered_json(); };
  return {{"device", series.device},
          {"quantity", traits(series.quantity).name},
          {"count", series.count},
          {"minimum", or_null(series.minimum)},
          {"minimum_time", or_null(series.minimum_time + offset)},
          {"mean", or_null(series.mean)},
          {"maximum", or_null(series.maximum)},
          {"maximum_time", or_null(series.maximum_time + offset)},
          {"why_null", series.why_none.empty() ? ordered_json() : ordered_json(series.why_none)},
          {"values", series.values}};
}

}  // namespace

std::string monitor_text(const MonitorRecord& record, const Clock& clock, int rank,
                         const std::string& host) {
  const std::chrono::duration<double> unix_now =
      std::chrono::system_clock::now().time_since_epoch();
  const double offset = unix_now.count() - clock.now();
  ordered_json times = ordered_json::array();
  for (const double time : record.times) times.push_back(time + offset);
  ordered_json series = ordered_json::array();
  for (const MonitorSeries& one : record.series) series.push_back(json_of(one, offset));
  ordered_json gpus = ordered_json::array();
  for (const MonitoredGpu& gpu : record.gpus) gpus.push_back(json_of(gpu));
  return ordered_json{{"rank", rank},
                      {"host", host},
                      {"interval_seconds", record.seconds},
                      {"samples_taken", record.taken},
                      {"times", std::move(times)},
                      {"series", std::move(series)},
                      {"gpus", std::move(gpus)}}
      .dump();
}

}  // namespace speedwell
