// SPDX-License-Identifier: BSD-3-Clause
#include "report/tune_report.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/expects.hpp"
#include "document/option_json.hpp"
#include "document/option_lines.hpp"
#include "document/report_parts.hpp"

#include "revision.hpp"

namespace speedwell {

namespace {

using nlohmann::ordered_json;

constexpr double giga = 1e9;

std::string chunk_text(const Tuning& tuning) {
  return tuning.chunk == 0 ? "all" : std::to_string(tuning.chunk);
}

std::string tuning_words(const Tuning& tuning) {
  return fmt::format("nb {}, look-ahead {}, chunk {}", tuning.nb, tuning.lookahead,
                     chunk_text(tuning));
}

double percent(double rate, double against) {
  return 100 * (rate / against - 1);
}

ordered_json json_of(const Tuning& tuning) {
  return {{"nb", tuning.nb}, {"lookahead", tuning.lookahead}, {"chunk", tuning.chunk}};
}

ordered_json json_of(const TuningTrial& trial) {
  ordered_json all = json_of(trial.tuning);
  all["gflops"] = trial.rate / giga;
  all["against_gflops"] = number_or_null(trial.against / giga, trial.against > 0);
  all["better"] = trial.better;
  return all;
}

ordered_json json_of(const TunedBenchmark& tuned) {
  const BenchmarkOptions& o = tuned.setup.options;
  ordered_json all = {{"benchmark", name(o.benchmark)},
                      {"n", o.n},
                      {"precision", name(o.precision)},
                      {"pivoting", name(o.pivoting)}};
  all.update(json_of_options(o.run));
  all.update({{"device_description", tuned.setup.machine.device},
              {"columns_timed", tuned.columns},
              {"gflops", tuned.entry.gflops},
              {"default_gflops", tuned.entry.default_gflops},
              {"complete", tuned.outcome.complete}});
  all.update(json_of(tuned.outcome.best));
  for (const TuningTrial& trial : tuned.trials) all["trials"].push_back(json_of(trial));
  return all;
}

}  // namespace

std::string tune_banner(double budget, const std::vector<std::string>& notes) {
  std::string text = fmt::format("Speedwell {} ({})  --  tuning for {:g} s\n", SPEEDWELL_VERSION,
                                 SPEEDWELL_REVISION, budget);
  for (const std::string& note : notes) text += fmt::format("- {}\n", note);
  return text;
}

std::string tune_head(const Setup& setup, std::int64_t columns) {
  const BenchmarkOptions& o = setup.options;
  const char* reason = setup.reasons.n.empty() ? "" : " (what time and memory allow)";
  OptionLines lines;
  lines.add(o.run);
  // The head shows these, or they are tuned.
  lines.skip({"nprow", "npcol", "device", "nb", "lookahead", "chunk"});
  if (setup.machine.gpus.empty()) lines.skip({"gpus", "reserve", "fp64"});
  std::string notes = lines.rest();
  for (const std::string& note : setup.notes) notes += fmt::format("- {}\n", note);
  return fmt::format(
      "\n{}: N = {}{}, P = {}, Q = {}, {}{}\n{}: {}\n{}every run times {} columns or some more; "
      "rates in GFLOP/s\n\n{:>8} {:>6} {:>8} {:>12} {:>12}\n",
      o.benchmark == Benchmark::mxp ? "HPL-MxP" : "HPL", o.n, reason, o.run.nprow, o.run.npcol,
      name(o.precision), o.pivoting == Pivoting::partial ? ", pivoting" : "", name(o.run.device),
      setup.machine.device, notes, columns, "NB", "DEPTH", "CHUNK", "rate", "of the best");
}

std::string tune_line(const TuningTrial& trial) {
  const std::string values =
      fmt::format("{:>8} {:>6} {:>8} {:>12.2f}", trial.tuning.nb, trial.tuning.lookahead,
                  chunk_text(trial.tuning), trial.rate / giga);
  if (trial.against == 0) return values + fmt::format(" {:>12} the table's values\n", "");
  return values + fmt::format(" {:>12.2f} {:+.1f} %{}\n", trial.against / giga,
                              percent(trial.rate, trial.against), trial.better ? ", better" : "");
}

std::string tune_result(const TunedBenchmark& tuned) {
  const TuneOutcome& o = tuned.outcome;
  const bool moved = o.best != tuned.trials.front().tuning;
  std::string text = fmt::format(
      "\nbest: {}{}\n", tuning_words(o.best),
      moved ? fmt::format(", {:+.1f} % over the table's values", percent(o.rate, o.default_rate))
            : ", the table's values");
  if (!o.complete) text += "the time was over before all neighbours were tried\n";
  return text;
}

std::string tune_end(const std::string& profile) {
  return profile.empty() ? "\nno profile was written\n"
                         : fmt::format("\nwritten to '{}'; later runs take it\n", profile);
}

ordered_json json_of_tuning(const std::vector<TunedBenchmark>& all, double budget,
                            const std::string& profile, const std::string& command_line,
                            const std::vector<std::string>& notes) {
  SPEEDWELL_EXPECTS(!all.empty());
  ordered_json document = {{"schema", "speedwell/1"},
                           {"benchmark", "tune"},
                           {"version", SPEEDWELL_VERSION},
                           {"revision", SPEEDWELL_REVISION},
                           {"date", all.front().entry.date},
                           {"command_line", command_line},
                           {"budget_seconds", budget},
                           {"profile", text_or_null(profile)},
                           {"notes", notes}};
  for (const TunedBenchmark& tuned : all) document["tunings"].push_back(json_of(tuned));
  return document;
}

}  // namespace speedwell
