// SPDX-License-Identifier: BSD-3-Clause
#include "paper/predicted.hpp"

#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <nlohmann/json.hpp>
#include <numeric>
#include <speedwell/error.hpp>
#include <utility>

#include "bench/benchmark_runner.hpp"
#include "comm/communicator.hpp"
#include "core/expects.hpp"
#include "core/option_fields.hpp"
#include "document/option_json.hpp"
#include "paper/children.hpp"

namespace speedwell::paper {

namespace {

using nlohmann::ordered_json;

// Predictions as text, from a child to its parent -------------------------------------------------

constexpr std::array phases{&Predicted::panel,  &Predicted::rows,   &Predicted::broadcast,
                            &Predicted::update, &Predicted::solves, &Predicted::residuals};

std::string text_of(const Predicted& p) {
  ordered_json all = {{"chosen", json_of_options(p.chosen)},
                      {"times", {p.seconds, p.lu_seconds, p.refine_seconds, p.gflops}},
                      {"panel_width", p.panel_width},
                      {"sampled", p.sampled},
                      {"refusal", p.refusal}};
  for (const auto phase : phases) {
    const PhaseTime& time = p.*phase;
    all["phases"].push_back({time.average, time.maximum, time.slowest_rank});
  }
  return all.dump();
}

BenchmarkOptions options_of(const ordered_json& all) {
  BenchmarkOptions options;
  for_each_option(options, [&](std::string_view option, auto& value) {
    using Value = std::remove_cvref_t<decltype(value)>;
    const ordered_json& text = all.at(std::string(option));
    if constexpr (std::is_enum_v<Value>)
      value = parse<Value>(text.template get<std::string>()).value();
    else
      text.get_to(value);
  });
  return options;
}

Predicted predicted_of(const std::string& text) {
  const ordered_json all = ordered_json::parse(text);
  if (all.contains("fault")) throw Fault(all.at("fault").get<std::string>());
  Predicted p;
  p.chosen = options_of(all.at("chosen"));
  const ordered_json& times = all.at("times");
  p.seconds = times.at(0);
  p.lu_seconds = times.at(1);
  p.refine_seconds = times.at(2);
  p.gflops = times.at(3);
  p.panel_width = all.at("panel_width");
  p.sampled = all.at("sampled");
  p.refusal = all.at("refusal");
  for (std::size_t i = 0; i < phases.size(); ++i) {
    const ordered_json& time = all.at("phases").at(i);
    p.*phases[i] = {time.at(0), time.at(1), time.at(2)};
  }
  return p;
}

// A run on a rank ---------------------------------------------------------------------------------

Predicted whole_run(const BenchmarkOptions& options) {
  const BenchmarkResult r = BenchmarkRunner(MPI_COMM_WORLD, options).run().result;
  Predicted p;
  p.chosen = r.chosen;
  p.seconds = r.seconds;
  p.lu_seconds = r.lu_seconds;
  p.refine_seconds = r.refine_seconds;
  p.gflops = r.gflops;
  p.panel = r.panel;
  p.rows = r.rows;
  p.broadcast = r.broadcast;
  p.update = r.update;
  p.solves = r.solves;
  p.residuals = r.residuals;
  p.panel_width = r.panel_width;
  return p;
}

// The first steps alone. Where there are too few of them to tell a rate, the whole run.
Predicted first_steps(const BenchmarkOptions& options) {
  constexpr std::int64_t panels = 16;  // fewer tell too little where a deep look-ahead falls behind
  Predicted p;
  {
    BenchmarkRunner runner(MPI_COMM_WORLD, options);
    p.chosen = runner.setup().options;
    p.panel_width = runner.setup().lu.width;
    const RunOptions& run = p.chosen.run;
    const std::int64_t columns = panels * p.panel_width;
    if (runner.retune({run.nb, run.lookahead, run.chunk}, columns)) {
      p.sampled = true;
      p.gflops = runner.first_steps(columns).rate / 1e9;
    }
  }
  return p;
}

// Runs as every rank. Errors do not leave an actor of SimGrid, so the first one is the reply.
void be_rank(const Case& one, const Reply& reply) {
  Predicted p;
  try {
    int argc = 0;
    char** argv = nullptr;
    const MpiSession mpi(argc, argv);
    BenchmarkOptions options = one.options;
    options.run.stall_timeout = 0;
    options.run.threads = std::max(1, one.scenario.device.threads);
    p = one.sampled ? first_steps(options) : whole_run(options);
    if (self().number == 0) reply(text_of(p));  // equal on every rank
  } catch (const UsageError& error) {
    p.refusal = error.what();
    reply(text_of(p));
  } catch (const std::exception& error) {
    reply(ordered_json{{"fault", error.what()}}.dump());
  }
}

std::string title(const Case& one) {
  const BenchmarkOptions& o = one.options;
  return fmt::format("{} on {} ranks of {} (N {}, NB {}, P {}, Q {}; 0: chosen)", name(o.benchmark),
                     one.scenario.ranks, one.scenario.machine.name, o.n, o.run.nb, o.run.nprow,
                     o.run.npcol);
}

// Predicts each case as a whole, or its first steps: then with their rate, and without times.
std::vector<Predicted> predict_parts(std::span<const Case> cases, int processes) {
  std::vector<std::size_t> order(cases.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return cases[a].scenario.ranks > cases[b].scenario.ranks;
  });
  const std::vector<ChildEnd> ends =
      run_children(order, processes, [&](std::size_t i, const Reply& reply) {
        simulate(cases[i].scenario, [&] { be_rank(cases[i], reply); });
      });
  std::vector<Predicted> all;
  for (std::size_t i = 0; i < cases.size(); ++i) try {
      if (!ends[i].failure.empty()) throw Fault(ends[i].failure);
      all.push_back(predicted_of(ends[i].text));
    } catch (const Fault& fault) {
      throw Fault(fmt::format("no prediction of {}: {}", title(cases[i]), fault.what()));
    }
  return all;
}

// The options of the sample at n/3.
BenchmarkOptions third_of(const Predicted& sample) {
  BenchmarkOptions third = sample.chosen;
  third.n = std::max<std::int64_t>(1, round_to_blocks(third.n / 3, sample.chosen.run.nb));
  return third;
}

// The times of the LU from the rates of its first steps, flop/s, at n and at n/3. A column takes
// t(m) = 2 m^2 / rate(m) seconds where m are left, nearly a quadratic polynomial in m, which
// Radau's rule integrates exactly: n (t(n) / 4 + 3/4 t(n/3)).
void set_times(Predicted& p, double rate, double rate_of_third) {
  const auto n = static_cast<double>(p.chosen.n);
  p.seconds = p.lu_seconds = n * n * n * (1 / (2 * rate) + 1 / (6 * rate_of_third));
  p.gflops = benchmark_flops(p.chosen.n) / p.seconds / 1e9;
}

}  // namespace

std::vector<Predicted> predict_all(std::span<const Case> cases, int processes) {
  SPEEDWELL_EXPECTS(processes >= 1);
  std::vector<Predicted> all = predict_parts(cases, processes);
  // A process can set up one machine, so what is left to predict of samples has another one: the
  // first steps at n/3, and whole runs where there are too few steps.
  std::vector<Case> rest;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (!cases[i].sampled || !all[i].refusal.empty()) continue;
    Case& more = rest.emplace_back(cases[i]);
    places.push_back(i);
    more.sampled = all[i].sampled;
    if (more.sampled) more.options = third_of(all[i]);
  }
  const std::vector<Predicted> more = predict_parts(rest, processes);
  std::vector<Case> whole;
  std::vector<std::size_t> left;
  for (std::size_t i = 0; i < rest.size(); ++i) {
    Predicted& p = all[places[i]];
    if (!rest[i].sampled) {
      p = more[i];
    } else if (more[i].sampled) {
      set_times(p, p.gflops * 1e9, more[i].gflops * 1e9);
    } else {
      left.push_back(places[i]);
      whole.push_back({cases[places[i]].scenario, cases[places[i]].options});
    }
  }
  const std::vector<Predicted> runs = predict_parts(whole, processes);
  for (std::size_t i = 0; i < left.size(); ++i) all[left[i]] = runs[i];
  return all;
}

double RealClock::now() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace speedwell::paper
