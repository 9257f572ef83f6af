// SPDX-License-Identifier: BSD-3-Clause
#include "setup/rates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <ctime>
#include <deque>

#include "comm/agreement.hpp"
#include "core/expects.hpp"
#include "core/scalar.hpp"
#include "device/device_traits.hpp"
#include "io/text.hpp"
#include "setup/product_trial.hpp"

namespace speedwell {

namespace {

constexpr double giga = 1e9;
// Local orders below this one: a measurement would take a large part of the run's time.
constexpr std::int64_t least_measured = 2048;
constexpr std::int64_t least_trial = 512;
// A rate is steady if two rounds agree on it. Other programs on the cores disturb it otherwise.
constexpr int least_rounds = 3;
constexpr int most_rounds = 10;
constexpr double steady_ratio = 0.9;

// The rates that this process knows. One thread at a time calls Speedwell.
struct Known {
  ProfileRate rate;
  bool by_this_process = false;
  bool steady = true;
};
std::vector<Known>& known() {
  static std::vector<Known> all;
  return all;
}

void put(const Known& one) {
  std::erase_if(known(), [&](const Known& other) {
    return other.rate.device == one.rate.device && other.rate.precision == one.rate.precision &&
           other.rate.order == one.rate.order;
  });
  known().push_back(one);
}

// The rate known for this order, else that of the nearest larger order; null if there is none.
const Known* find(const std::string& device, Precision precision, std::int64_t order) {
  const Known* found = nullptr;
  for (const Known& one : known()) {
    if (one.rate.device != device || one.rate.precision != precision) continue;
    if (one.rate.order == 0) return &one;
    if (one.rate.order >= order && (!found || one.rate.order < found->rate.order)) found = &one;
  }
  return found;
}

// The rows of the products that are timed. The rates of larger products differ by some percent
// only.
std::int64_t trial_order(const Machine& machine, std::int64_t n) {
  const DeviceTraits& traits = traits_of(machine.facts().run.device);
  const double threads = std::max(1., machine.facts().most_threads / 2.);
  const auto most = std::bit_floor(
      static_cast<std::uint64_t>(static_cast<double>(traits.trial_order) * std::sqrt(threads)));
  const GridShape shape = machine.facts().shape();
  const auto quarter = static_cast<std::uint64_t>(n / std::max(shape.nprow, shape.npcol) / 4);
  return static_cast<std::int64_t>(
      std::clamp(std::bit_floor(quarter), std::uint64_t{least_trial}, most));
}

/// The two highest rates of several rounds.
struct Rounds {
  double best = 0;
  double second = 0;
  void add(double rate) {
    second = std::max(second, std::min(rate, best));
    best = std::max(best, rate);
  }
  bool steady() const { return second >= steady_ratio * best; }
};

// Flop/s of this rank's updates, in turns over the precisions.
std::vector<Rounds> measure(const Machine& machine, std::span<const Precision> precisions,
                            std::int64_t order) {
  const DeviceTraits& traits = traits_of(machine.facts().run.device);
  const std::int64_t width = std::min(traits.trial_width, order / 2);
  std::deque<ProductTrial> trials;
  for (const Precision p : precisions)
    trials.emplace_back(machine.device(), Product::update, p, order, order / 2, width);
  std::vector<Rounds> rates(trials.size());
  const auto steady = [&] {
    return std::all_of(rates.begin(), rates.end(), [](const Rounds& r) { return r.steady(); });
  };
  for (int round = 0; round < least_rounds || (round < most_rounds && !steady()); ++round)
    for (std::size_t i = 0; i < trials.size(); ++i)
      rates[i].add(trials[i].rate(machine.run().clock(), 0));
  return rates;
}

// Of HPL-MxP's own matrices, by their scaled residuals on an H200 and on processors.
int corrections_of(Precision precision) {
  return precision == Precision::bf16 ? 3 : precision == Precision::fp16 ? 2 : 1;
}

// Where simulated rates are from: " (by the machine file: assumed)", or a word for each precision.
std::string words_of_paper(const std::vector<Rate>& rates) {
  const auto differs = [&](const Rate& rate) { return rate.word != rates.front().word; };
  std::string words = rates.front().word;
  if (std::any_of(rates.begin(), rates.end(), differs)) {
    words.clear();
    for (const Rate& rate : rates)
      words += fmt::format("{}{} {}", words.empty() ? "" : ", ", name(rate.precision), rate.word);
  }
  return fmt::format(" (by the machine file: {})", words);
}

}  // namespace

double Rates::of(Precision precision) const {
  for (const Rate& rate : all_)
    if (rate.precision == precision) return rate.flops;
  return 0;
}

double Rates::measured(Precision precision) const {
  for (const Rate& rate : all_)
    if (rate.precision == precision && rate.origin != RateOrigin::assumed) return rate.flops;
  return 0;
}

Precision Rates::fastest(double nearly) const {
  SPEEDWELL_EXPECTS(!all_.empty());
  const auto slower = [](const Rate& a, const Rate& b) { return a.flops < b.flops; };
  const double most = std::max_element(all_.begin(), all_.end(), slower)->flops;
  const Rate* best = nullptr;
  for (const Rate& rate : all_)
    if (rate.flops * nearly >= most &&
        (!best || unit_roundoff(rate.precision) < unit_roundoff(best->precision)))
      best = &rate;
  return best->precision;
}

Precision Rates::fastest_benchmark(DeviceKind device, std::int64_t n) const {
  const DeviceTraits& traits = traits_of(device);
  const double share = traits.correction_order / static_cast<double>(n);  // of one correction
  std::vector<Rate> scores = all_;
  for (Rate& rate : scores) rate.flops /= 1 + corrections_of(rate.precision) * share;
  return Rates(std::move(scores)).fastest(traits.trial_noise);
}

Rates Rates::among(std::span<const Precision> precisions) const {
  std::vector<Rate> some = all_;
  std::erase_if(some, [&](const Rate& rate) {
    return std::find(precisions.begin(), precisions.end(), rate.precision) == precisions.end();
  });
  return Rates(std::move(some));
}

std::string Rates::text(Precision chosen) const {
  if (all_.empty()) return "";
  if (all_.front().origin == RateOrigin::assumed) return "N is too small to measure rates";
  const auto number = [](double flops) {
    return flops < 100 * giga ? fmt::format("{:.3g}", flops / giga)
                              : fmt::format("{:.0f}", flops / giga);
  };
  std::string text = number(of(chosen)) + " GFLOP/s";
  std::string date;
  const char* between = "; ";
  for (const Rate& rate : all_) {
    date = std::max(date, rate.date.substr(0, std::string("2026-11-22").size()));
    if (rate.precision == chosen) continue;
    text += fmt::format("{}{} {}", between, name(rate.precision), number(rate.flops));
    between = ", ";
  }
  if (all_.front().origin == RateOrigin::paper) return text + words_of_paper(all_);
  return text + (date.empty() ? " (measured)" : fmt::format(" (measured {})", date));
}

Rates update_rates(const Machine& machine, std::span<const Precision> precisions, std::int64_t n) {
  const Communicator& all = machine.all();
  const std::string device = machine.device().description();
  const GridShape shape = machine.facts().shape();
  const std::int64_t local = n / std::max(shape.nprow, shape.npcol);
  const bool small = local < least_measured;
  const std::int64_t order = small ? 1 : trial_order(machine, n);
  const auto missing_here = [&] {
    return std::any_of(precisions.begin(), precisions.end(),
                       [&](Precision p) { return !find(device, p, order); });
  };
  const bool missing = all.all_reduce(std::int64_t{missing_here()}, Reduction::max) != 0;
  std::vector<Rate> rates;
  if (missing && small) {
    for (const Precision p : precisions)
      rates.push_back({p, traits_of(machine.facts().run.device).assumed_rate(p) * all.size()});
    return Rates(std::move(rates));
  }
  if (missing) {
    all.barrier();  // ranks that share a memory measure at the same time
    const std::vector<Rounds> mine =
        agreed(all, [&] { return measure(machine, precisions, order); });
    const std::string date = utc_text(std::time(nullptr));
    for (std::size_t i = 0; i < mine.size(); ++i)
      put({{device, precisions[i], order, mine[i].best / giga, date, ""}, true, mine[i].steady()});
  }
  for (const Precision p : precisions) {
    const Known& one = *find(device, p, order);
    const double slowest = all.all_reduce(one.rate.gflops, Reduction::min);
    Rate rate{p, slowest * giga * all.size(), RateOrigin::measured};
    if (const auto& paper = machine.facts().paper) {
      rate.origin = RateOrigin::paper;
      rate.word = paper->rates.at(p);
    } else if (!one.by_this_process) {
      rate.origin = RateOrigin::remembered;
      rate.date = one.rate.date;
    }
    rates.push_back(std::move(rate));
  }
  return Rates(std::move(rates));
}

void remember(const ProfileRate& rate) {
  put({rate});
}

std::vector<ProfileRate> measured_rates() {
  std::vector<ProfileRate> all;
  for (const Known& one : known())
    if (one.by_this_process && one.steady) all.push_back(one.rate);
  return all;
}

void forget_rates() {
  known().clear();
}

}  // namespace speedwell
