// SPDX-License-Identifier: BSD-3-Clause
#include "paper/search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <optional>
#include <span>
#include <speedwell/error.hpp>

#include "bench/neighbours.hpp"
#include "core/expects.hpp"
#include "core/numbers.hpp"
#include "core/option_text.hpp"
#include "setup/sizing.hpp"

namespace speedwell::paper {

namespace {

constexpr std::array choices{Choice::nb,    Choice::grid,      Choice::lookahead,
                             Choice::chunk, Choice::broadcast, Choice::n};
constexpr int most_finalists = 5;
constexpr int reach = 2;  // neighbours to each side of a value

template <class T>
std::vector<T> around(const std::vector<T>& series, T center) {
  return neighbours(series, center, reach, reach);
}

std::vector<int> divisors(int number) {
  std::vector<int> all;
  for (int d = 1; d <= number; ++d)
    if (number % d == 0) all.push_back(d);
  return all;
}

/// Why a choice is not searched, in words; empty if it is.
/// @param chosen of the first prediction
std::string why_fixed(Choice choice, const BenchmarkOptions& asked, const SearchRequest& request,
                      const BenchmarkOptions& chosen) {
  const RunOptions& run = asked.run;
  const bool alone = chosen.run.nprow * chosen.run.npcol == 1;
  const auto unless = [](bool open, const char* why) { return std::string(open ? "" : why); };
  switch (choice) {
    case Choice::nb:
      return unless(run.nb == 0, "given");
    case Choice::grid:
      if (run.nprow != 0 || run.npcol != 0) return "given";
      return unless(!alone, "one rank has no choice");
    case Choice::lookahead:
      return unless(run.lookahead < 0, "given");
    case Choice::chunk:
      return unless(run.chunk == 0, "given");
    case Choice::broadcast:
      if (request.broadcast_given) return "given";
      if (alone) return "one rank has no choice";
      return unless(chosen.run.comm != CommMethod::nccl, "NCCL has its own broadcast");
    case Choice::n:
      return unless(asked.n == 0, "given");
  }
  return "";
}

/// The options with the values of one choice taken from others.
BenchmarkOptions with(BenchmarkOptions options, Choice choice, const BenchmarkOptions& from) {
  switch (choice) {
    case Choice::nb:
      options.run.nb = from.run.nb;
      break;
    case Choice::grid:
      options.run.nprow = from.run.nprow;
      options.run.npcol = from.run.npcol;
      break;
    case Choice::lookahead:
      options.run.lookahead = from.run.lookahead;
      break;
    case Choice::chunk:
      options.run.chunk = from.run.chunk;
      break;
    case Choice::broadcast:
      options.run.broadcast = from.run.broadcast;
      break;
    case Choice::n:
      options.n = from.n;
      break;
  }
  return options;
}

/// Whether two configurations have the same values of all choices.
bool same(const BenchmarkOptions& a, const BenchmarkOptions& b) {
  return std::ranges::all_of(choices, [&](Choice choice) {
    const BenchmarkOptions changed = with(a, choice, b);
    return changed.run == a.run && changed.n == a.n;
  });
}

/// A choice's value in words.
std::string value_text(Choice choice, const Predicted& p) {
  const BenchmarkOptions& o = p.chosen;
  switch (choice) {
    case Choice::nb:
      return std::to_string(o.run.nb);
    case Choice::grid:
      return fmt::format("{} x {}", o.run.nprow, o.run.npcol);
    case Choice::lookahead:
      return std::to_string(o.run.lookahead);
    case Choice::chunk:
      return o.run.chunk < ceil_div(o.n, o.run.npcol) ? std::to_string(o.run.chunk) : "all";
    case Choice::broadcast:
      return std::string(name(o.run.broadcast));
    case Choice::n:
      return std::to_string(o.n);
  }
  return "";
}

const char* label(Choice choice) {
  constexpr std::array<const char*, choice_count> labels{"nb",    "grid",  "look-ahead",
                                                         "chunk", "bcast", "n"};
  return labels[static_cast<std::size_t>(choice)];
}

/// "2048 is 2.1 % slower", as compared with the best. A refused value has no Predicted::chosen.
std::string comparison(Choice choice, const SearchTrial& trial, const Predicted& best) {
  if (!trial.predicted.refusal.empty()) {
    Predicted shown = best;
    shown.chosen = with(shown.chosen, choice, trial.asked);
    return value_text(choice, shown) + " is refused";
  }
  const double percent = 100 * (1 - trial.predicted.gflops / best.gflops);
  const std::string value = value_text(choice, trial.predicted);
  if (std::abs(percent) < 0.05) return value + " is as fast";
  return fmt::format("{} is {:.1f} % {}", value, std::abs(percent),
                     percent > 0 ? "slower" : "faster");
}

class Searching {
 public:
  Searching(const Scenario& scenario, const BenchmarkOptions& asked, const SearchRequest& request,
            const Predict& predict, const Clock& clock)
      : scenario_(scenario),
        asked_(asked),
        request_(request),
        predict_(predict),
        clock_(clock),
        deadline_(clock.now() + request.budget) {}

  SearchOutcome run() {
    start();
    for (bool moved = true; moved && outcome_.complete;) {
      moved = false;
      for (const Choice choice : choices)
        if (why_fixed(choice).empty()) moved = improve(choice) || moved;
    }
    if (finalists_ > 0) confirm();
    for (const Choice choice : choices) outcome_.reasons.push_back({choice, reason(choice)});
    return std::move(outcome_);
  }

 private:
  const SearchTrial& best() const { return outcome_.trials[outcome_.best]; }

  std::vector<Predicted> predicted(const std::vector<BenchmarkOptions>& all, bool sampled) {
    std::vector<Case> cases;
    cases.reserve(all.size());
    for (const BenchmarkOptions& options : all) cases.push_back({scenario_, options, sampled});
    const double begin = clock_.now();
    std::vector<Predicted> result = predict_(cases);
    longest_ = std::max(longest_, clock_.now() - begin);
    return result;
  }

  std::string why_fixed(Choice choice) const {
    return paper::why_fixed(choice, asked_, request_, outcome_.trials.front().predicted.chosen);
  }

  /// The seconds of a whole run's prediction.
  double whole_seconds(const Predicted& p) const {
    return simulation_seconds(scenario_.ranks, p.chosen.n, p.panel_width);
  }

  /// Predicts what was asked, and decides whether trials are whole runs.
  void start() {
    Predicted first = predicted({asked_}, true).front();
    if (!first.refusal.empty()) throw UsageError(first.refusal);
    constexpr int expected_trials = 50;
    outcome_.sampled = first.sampled && whole_seconds(first) * expected_trials >
                                            request_.budget * request_.processes;
    if (first.sampled && !outcome_.sampled) first = predicted({asked_}, false).front();
    if (outcome_.sampled) reserve(whole_seconds(first));
    BenchmarkOptions options = asked_;
    for (const Choice choice : choices)
      if (choice != Choice::n) options = with(options, choice, first.chosen);
    largest_ = first.chosen.n;
    outcome_.trials.push_back({options, std::move(first)});
  }

  /// Keeps up to half of the budget for whole runs of the finalists.
  void reserve(double seconds) {
    const double rounds = std::floor(request_.budget / 2 / seconds);
    finalists_ =
        static_cast<std::size_t>(std::min<double>(most_finalists, rounds * request_.processes));
    deadline_ -= seconds * std::ceil(static_cast<double>(finalists_) / request_.processes);
  }

  /// The values of a choice to compare with the best one.
  std::vector<BenchmarkOptions> neighbours(Choice choice) const;

  /// Tries the neighbours of the best configuration. Returns whether one of them is better.
  bool improve(Choice choice) {
    std::vector<BenchmarkOptions> fresh;
    for (const BenchmarkOptions& one : neighbours(choice))
      if (!known(one)) fresh.push_back(one);
    const std::size_t before = outcome_.best;
    const auto together = static_cast<std::size_t>(request_.processes);
    for (std::size_t i = 0; i < fresh.size(); i += together) {
      if (clock_.now() + longest_ > deadline_) {
        outcome_.complete = false;
        break;
      }
      const auto end = std::min(fresh.size(), i + together);
      take({fresh.begin() + static_cast<std::ptrdiff_t>(i),
            fresh.begin() + static_cast<std::ptrdiff_t>(end)});
    }
    return outcome_.best != before;
  }

  void take(const std::vector<BenchmarkOptions>& all) {
    std::vector<Predicted> predictions = predicted(all, outcome_.sampled);
    SPEEDWELL_EXPECTS(predictions.size() == all.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
      outcome_.trials.push_back({all[i], std::move(predictions[i])});
      const Predicted& now = outcome_.trials.back().predicted;
      if (now.refusal.empty() && now.gflops > (1 + search_margin) * best().predicted.gflops)
        outcome_.best = outcome_.trials.size() - 1;
    }
  }

  bool known(const BenchmarkOptions& options) const {
    return std::ranges::any_of(
        outcome_.trials, [&](const SearchTrial& trial) { return same(trial.asked, options); });
  }

  std::string reason(Choice choice) const {
    const Predicted& p = best().predicted;
    const std::string value = fmt::format("{} {}", label(choice), value_text(choice, p));
    if (const std::string why = why_fixed(choice); !why.empty()) return value + ": " + why;
    std::string text;
    for (const SearchTrial& trial : outcome_.trials)
      if (&trial != &best() && same(with(trial.asked, choice, best().asked), best().asked))
        text += (text.empty() ? "" : ", ") + comparison(choice, trial, p);
    if (choice == Choice::n && best().asked.n == 0)
      text = "the largest that fits" + (text.empty() ? text : "; " + text);
    return fmt::format("{}: {}", value, text.empty() ? "nothing else was tried" : text);
  }

  /// The fastest trials, and the first one in the place of the last of them.
  std::vector<std::size_t> finalists() const {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < outcome_.trials.size(); ++i)
      if (outcome_.trials[i].predicted.refusal.empty()) order.push_back(i);
    std::ranges::stable_sort(order, std::greater(),
                             [&](std::size_t i) { return outcome_.trials[i].predicted.gflops; });
    order.resize(std::min(order.size(), finalists_));
    const bool has_first = std::ranges::find(order, std::size_t{0}) != order.end();
    if (order.size() > 1 && !has_first) order.back() = 0;
    return order;
  }

  /// Compares whole runs of the finalists.
  void confirm() {
    const std::vector<std::size_t> order = finalists();
    std::vector<BenchmarkOptions> options;
    options.reserve(order.size());
    for (const std::size_t i : order) options.push_back(outcome_.trials[i].asked);
    std::vector<Predicted> runs = predicted(options, false);
    double best_rate = 0;
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (runs[i].refusal.empty() && runs[i].gflops > best_rate) {
        best_rate = runs[i].gflops;
        outcome_.best = order[i];
      }
      outcome_.whole.push_back({options[i], std::move(runs[i])});
    }
  }

  const Scenario& scenario_;
  const BenchmarkOptions& asked_;
  const SearchRequest& request_;
  const Predict& predict_;
  const Clock& clock_;
  double deadline_;
  std::size_t finalists_ = 0;  // configurations of which whole runs are predicted at the end
  double longest_ = 0;         // seconds of a batch of predictions
  std::int64_t largest_ = 0;   // n that the first configuration may have
  SearchOutcome outcome_;
};

std::vector<BenchmarkOptions> Searching::neighbours(Choice choice) const {
  const BenchmarkOptions& at = best().asked;
  const BenchmarkOptions& chosen = best().predicted.chosen;
  std::vector<BenchmarkOptions> all;
  const auto add = [&](const auto& change) { change(all.emplace_back(at)); };
  const std::int64_t columns = ceil_div(chosen.n, chosen.run.npcol);  // of a rank
  switch (choice) {
    case Choice::nb:
      for (const std::int64_t nb : around(block_sizes(chosen.n), chosen.run.nb))
        add([&](BenchmarkOptions& o) { o.run.nb = nb; });
      break;
    case Choice::grid:
      for (const int p : around(divisors(scenario_.ranks), chosen.run.nprow))
        add([&](BenchmarkOptions& o) {
          o.run.nprow = p;
          o.run.npcol = scenario_.ranks / p;
        });
      break;
    case Choice::lookahead:
      for (const int depth : {0, 1}) add([&](BenchmarkOptions& o) { o.run.lookahead = depth; });
      break;
    case Choice::chunk: {
      // A chunk of a rank's columns or more is the same as all of them.
      const bool every = chosen.run.chunk >= columns;
      const std::vector<std::int64_t> series =
          chunk_sizes(columns, every ? at.run.chunk : chosen.n);
      for (const std::int64_t chunk : around(series, at.run.chunk))
        add([&](BenchmarkOptions& o) { o.run.chunk = chunk; });
      break;
    }
    case Choice::broadcast:
      for (const auto method :
           {BroadcastMethod::ibcast, BroadcastMethod::ring, BroadcastMethod::ring_modified,
            BroadcastMethod::two_ring, BroadcastMethod::two_ring_modified,
            BroadcastMethod::spread_roll, BroadcastMethod::spread_roll_modified})
        add([&](BenchmarkOptions& o) { o.run.broadcast = method; });
      break;
    case Choice::n:
      for (const double part : {1., 0.9, 0.75, 0.5})
        add([&](BenchmarkOptions& o) {
          const auto n = static_cast<std::int64_t>(part * static_cast<double>(largest_));
          o.n = part == 1 ? 0 : std::max<std::int64_t>(1, round_to_blocks(n, chosen.run.nb));
        });
      break;
  }
  return all;
}

}  // namespace

const Predicted& SearchOutcome::chosen() const {
  for (const SearchTrial& trial : whole)
    if (same(trial.asked, trials[best].asked)) return trial.predicted;
  return trials[best].predicted;
}

// Measured on one core: 0.15 ms for a rank's step in a node of GPUs, 0.5 ms in a fat tree.
double simulation_seconds(int ranks, std::int64_t n, std::int64_t panel_width) {
  constexpr double seconds_of_step = 5e-4;
  return seconds_of_step * ranks *
         static_cast<double>(ceil_div(n, std::max<std::int64_t>(1, panel_width)));
}

SearchOutcome search(const Scenario& scenario, const BenchmarkOptions& asked,
                     const SearchRequest& request, const Predict& predict, const Clock& clock) {
  return Searching(scenario, asked, request, predict, clock).run();
}

}  // namespace speedwell::paper
