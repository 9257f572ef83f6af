// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/numbers.hpp"
#include "core/outliers.hpp"
#include "document/sensor_text.hpp"

namespace speedwell {

namespace {

using nlohmann::ordered_json;

/// The samples of one quantity over all devices.
struct Sampled {
  std::string quantity;
  double lowest = unknown, highest = unknown;
  std::string lowest_at{}, highest_at{};
  double sum = 0;
  double count = 0;

  void add(const ordered_json& series, const std::string& where) {
    const auto samples = series.at("count").get<double>();
    if (samples == 0) return;
    const auto low = series.at("minimum").get<double>();
    const auto high = series.at("maximum").get<double>();
    if (!(lowest <= low)) {
      lowest = low;
      lowest_at = where;
    }
    if (!(highest >= high)) {
      highest = high;
      highest_at = where;
    }
    sum += samples * series.at("mean").get<double>();
    count += samples;
  }
};

/// The samples of all ranks.
class Monitors {
 public:
  explicit Monitors(const std::vector<std::string>& texts) {
    for (const std::string& text : texts)
      ranks_.push_back(text.empty() ? ordered_json() : ordered_json::parse(text));
  }

  double highest(Quantity quantity) const {
    double most = unknown;
    for_each("series", [&](std::size_t, const ordered_json& series) {
      if (series.at("quantity") != traits(quantity).name || !series.at("maximum").is_number())
        return;
      const auto here = series.at("maximum").get<double>();
      if (!(most >= here)) most = here;
    });
    return most;
  }

  std::string lines(const std::vector<double>& update_rates) const {
    return table() + throttled() + slowest(update_rates);
  }

 private:
  /// "rank 37 on node12, GPU 5"
  std::string where(std::size_t rank, const ordered_json& device) const {
    return fmt::format("rank {} on {}, {}", rank, ranks_[rank].at("host").get<std::string>(),
                       device.get<std::string>());
  }

  template <class Work>
  void for_each(const char* list, const Work& work) const {
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank)
      if (!ranks_[rank].is_null())
        for (const ordered_json& one : ranks_[rank].at(list)) work(rank, one);
  }

  std::string table() const {
    std::vector<Sampled> all;
    std::string why;
    for_each("series", [&](std::size_t rank, const ordered_json& series) {
      const auto quantity = series.at("quantity").get<std::string>();
      auto row = std::ranges::find(all, quantity, &Sampled::quantity);
      if (row == all.end()) row = all.insert(all.end(), {quantity});
      row->add(series, where(rank, series.at("device")));
      if (why.empty() && series.at("why_null").is_string())
        why = fmt::format("{} of {}: {}", quantity, where(rank, series.at("device")),
                          series.at("why_null").get<std::string>());
    });
    std::string text = fmt::format("{:<20} {:>9} {:>9} {:>9}  {}\n", "Monitor", "lowest", "mean",
                                   "highest", "lowest at; highest at");
    for (const Sampled& row : all)
      if (row.count > 0)
        text += fmt::format("{:<20} {:>9.4g} {:>9.4g} {:>9.4g}  {}; {}\n", row.quantity, row.lowest,
                            row.sum / row.count, row.highest, row.lowest_at, row.highest_at);
    if (!why.empty()) text += fmt::format("not read: {}\n", why);
    return text;
  }

  std::string throttled() const {
    constexpr std::size_t most_shown = 5;
    std::vector<std::string> all;
    for_each("gpus", [&](std::size_t rank, const ordered_json& gpu) {
      if (const std::string words = reasons(gpu); !words.empty())
        all.push_back(fmt::format("throttled: {}: {}\n", where(rank, gpu.at("device")), words));
    });
    std::string text;
    for (std::size_t i = 0; i < std::min(all.size(), most_shown); ++i) text += all[i];
    if (all.size() > most_shown)
      text += fmt::format("throttled: {} more GPUs\n", all.size() - most_shown);
    return text;
  }

  /// "thermal throttling in 3 of 20 samples", without idleness.
  static std::string reasons(const ordered_json& gpu) {
    std::string text;
    for (const auto& [reason, samples] : gpu.at("throttled_samples").items()) {
      const auto known = std::ranges::find(throttle_reasons, reason, &ThrottleReason::name);
      if (known == throttle_reasons.begin() || known == throttle_reasons.end()) continue;
      text +=
          fmt::format("{}{} in {} of {} samples", text.empty() ? "" : ", ", known->words,
                      samples.get<std::int64_t>(), gpu.at("throttle_samples").get<std::int64_t>());
    }
    return text;
  }

  /// The mean SM clocks of the ranks' GPUs; NaN where it is not known.
  std::vector<double> clocks() const {
    std::vector<double> all(ranks_.size(), unknown);
    for_each("series", [&](std::size_t rank, const ordered_json& series) {
      if (series.at("quantity") == traits(Quantity::sm_clock).name && series.at("mean").is_number())
        all[rank] = series.at("mean").get<double>();
    });
    return all;
  }

  std::string slowest(const std::vector<double>& update_rates) const {
    const auto usual = spread_of(update_rates);
    if (!usual || update_rates.size() != ranks_.size() || ranks_.size() < 2) return "";
    std::size_t rank = 0;
    for (std::size_t i = 1; i < update_rates.size(); ++i)
      if (!(update_rates[i] >= update_rates[rank])) rank = i;
    std::string text =
        fmt::format("slowest: {}: updates {:.1f} % slower than the median", name_of(rank),
                    100 * shortfall(update_rates[rank], usual->median, Better::higher));
    const std::vector<double> all_clocks = clocks();
    if (const auto clock = spread_of(all_clocks); clock && std::isfinite(all_clocks[rank]))
      text += fmt::format("; SM clock {:.0f} against {:.0f} MHz", all_clocks[rank], clock->median);
    if (!ranks_[rank].is_null())
      for (const ordered_json& gpu : ranks_[rank].at("gpus"))
        if (const std::string words = reasons(gpu); !words.empty()) text += "; " + words;
    return text + "\n";
  }

  /// "rank 37 on node12, GPU 5"; without a GPU "rank 37 on node12".
  std::string name_of(std::size_t rank) const {
    if (ranks_[rank].is_null()) return fmt::format("rank {}", rank);
    const ordered_json& gpus = ranks_[rank].at("gpus");
    if (!gpus.empty()) return where(rank, gpus.front().at("device"));
    return fmt::format("rank {} on {}", rank, ranks_[rank].at("host").get<std::string>());
  }

  std::vector<ordered_json> ranks_;
};

}  // namespace

std::string monitor_lines(const std::vector<std::string>& monitors,
                          const std::vector<double>& update_rates) {
  return monitors.empty() ? "" : "\n" + Monitors(monitors).lines(update_rates);
}

double highest_sample(const std::vector<std::string>& monitors, Quantity quantity) {
  return Monitors(monitors).highest(quantity);
}

ordered_json json_of_monitors(const std::vector<std::string>& monitors) {
  if (monitors.empty()) return {};
  ordered_json all = ordered_json::array();
  for (const std::string& text : monitors)
    if (!text.empty()) all.push_back(ordered_json::parse(text));
  return all;
}

}  // namespace speedwell
