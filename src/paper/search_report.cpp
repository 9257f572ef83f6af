// SPDX-License-Identifier: BSD-3-Clause
#include "paper/search_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "core/option_text.hpp"
#include "document/report_parts.hpp"
#include "paper/study_parts.hpp"

namespace speedwell::paper {

namespace {

using nlohmann::ordered_json;

constexpr const char* row = "{:>10} {:>6} {:>5} {:>5} {:>5} {:>8} {:<14} ";

std::string trial_line(const SearchTrial& trial, bool best) {
  const Predicted& p = trial.predicted;
  const BenchmarkOptions& o = p.refusal.empty() ? p.chosen : trial.asked;
  const std::string n = o.n == 0 ? "largest" : std::to_string(o.n);
  std::string text = fmt::format(
      fmt::runtime(row), n, o.run.nb, o.run.nprow, o.run.npcol, o.run.lookahead,
      o.n == 0 ? std::to_string(o.run.chunk) : chunk_text(o.run.chunk, o.n), name(o.run.broadcast));
  if (!p.refusal.empty()) return fmt::format("{}refused: {}\n", text, p.refusal);
  return fmt::format("{}{:>11.3f} {:>12.3f}{}\n", text, p.seconds, p.gflops / 1e3,
                     best ? "  best" : "");
}

std::string table(const std::vector<SearchTrial>& trials, const BenchmarkOptions& best,
                  const char* seconds) {
  std::string text = fmt::format(fmt::runtime(row), "N", "NB", "P", "Q", "DEPTH", "CHUNK", "BCAST");
  text += fmt::format("{:>11} {:>12}\n", seconds, "TFLOP/s");
  for (const SearchTrial& trial : trials)
    text += trial_line(
        trial, trial.predicted.chosen.run == best.run && trial.predicted.chosen.n == best.n);
  return text;
}

std::string how(const SearchOutcome& outcome) {
  if (!outcome.sampled) return "";
  std::string text =
      "- Whole runs would take too long to predict. The table's rates are of the LU alone, from "
      "its\n  first steps at order N and at N/3.\n";
  if (outcome.whole.empty())
    text += "- The budget did not allow a whole run's prediction: the score is not known.\n";
  return text;
}

ordered_json trial_json(const SearchTrial& trial) {
  const Predicted& p = trial.predicted;
  const BenchmarkOptions& o = p.refusal.empty() ? p.chosen : trial.asked;
  ordered_json all = {{"n", o.n},
                      {"nb", o.run.nb},
                      {"nprow", o.run.nprow},
                      {"npcol", o.run.npcol},
                      {"lookahead", o.run.lookahead},
                      {"chunk", o.run.chunk},
                      {"bcast", name(o.run.broadcast)}};
  all.update(times_json(p));
  return all;
}

ordered_json trials_json(const std::vector<SearchTrial>& trials) {
  ordered_json all = ordered_json::array();
  for (const SearchTrial& trial : trials) all.push_back(trial_json(trial));
  return all;
}

}  // namespace

std::string command_of(const BenchmarkOptions& asked, const BenchmarkOptions& chosen) {
  const RunOptions& run = chosen.run;
  std::string text =
      fmt::format("speedwell {} -N {} --nb {} -P {} -Q {} --lookahead {} --bcast {} --chunk {}",
                  asked.benchmark == Benchmark::mxp ? "mxp" : "hpl", chosen.n, run.nb, run.nprow,
                  run.npcol, run.lookahead, name(run.broadcast), run.chunk);
  // These are above, or choose n, or say nothing about a run on the real machine.
  const std::set<std::string> told{
      "n",     "nb",        "nprow",           "npcol",       "lookahead",    "bcast",
      "chunk", "benchmark", "memory_fraction", "time_target", "stall_timeout"};
  const std::vector<OptionText> values = option_texts(asked);
  const std::vector<OptionText> defaults = option_texts(BenchmarkOptions{});
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] == defaults[i] || told.contains(values[i].name)) continue;
    std::string option = values[i].name;
    std::ranges::replace(option, '_', '-');
    text += fmt::format(" --{} {}", option, values[i].value);
  }
  return text;
}

std::string search_text(const Scenario& scenario, const BenchmarkOptions& asked,
                        const SearchOutcome& outcome) {
  const Predicted& best = outcome.chosen();
  std::string text = study_head("search for the fastest configuration", scenario, asked,
                                std::to_string(scenario.ranks));
  text += how(outcome);
  if (!outcome.complete) text += "- The budget ended before all neighbours were tried.\n";
  text +=
      fmt::format("\nPREDICTED best: {:.3f} TFLOP/s, {} {:.3f} s\n\n    {}\n\n", best.gflops / 1e3,
                  best.sampled ? "LU alone" : "time", best.seconds, command_of(asked, best.chosen));
  for (const SearchReason& reason : outcome.reasons) text += fmt::format("- {}\n", reason.text);
  const BenchmarkOptions& marked = best.chosen;
  if (!outcome.whole.empty())
    text += "\nPREDICTED, whole runs:\n" + table(outcome.whole, marked, "seconds");
  text += fmt::format("\nPREDICTED, in the order of the search:\n{}",
                      table(outcome.trials, marked, outcome.sampled ? "LU seconds" : "seconds"));
  return text + "\n";
}

ordered_json search_json(const Scenario& scenario, const BenchmarkOptions& asked,
                         const SearchOutcome& outcome) {
  ordered_json document = study_json("search", scenario, asked);
  document["ranks"] = scenario.ranks;
  document["sampled"] = outcome.sampled;
  document["complete"] = outcome.complete;
  document["command"] = command_of(asked, outcome.chosen().chosen);
  document["best"] = trial_json({outcome.trials[outcome.best].asked, outcome.chosen()});
  document["reasons"] = ordered_json::array();
  for (const SearchReason& reason : outcome.reasons) document["reasons"].push_back(reason.text);
  document["whole_runs"] = trials_json(outcome.whole);
  document["trials"] = trials_json(outcome.trials);
  return document;
}

}  // namespace speedwell::paper
