// SPDX-License-Identifier: BSD-3-Clause
#include "app/benchmark_command.hpp"

#include <fmt/format.h>
#include <speedwell/error.hpp>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>

#include "app/files.hpp"
#include "app/monitor.hpp"
#include "app/output.hpp"
#include "app/submission_folder.hpp"
#include "app/system_facts.hpp"
#include "bench/campaign.hpp"
#include "comm/agreement.hpp"
#include "core/option_range.hpp"
#include "io/hpl_dat.hpp"
#include "io/json.hpp"
#include "io/settings.hpp"
#include "report/benchmark_json.hpp"
#include "report/benchmark_report.hpp"
#include "report/progress.hpp"
#include "report/same_run.hpp"
#include "report/trace_report.hpp"
#include "setup/options_check.hpp"

namespace speedwell {

namespace {

constexpr const char* default_dat = "HPL.dat";

using nlohmann::ordered_json;
using Notes = std::vector<std::string>;

/// The HPL.dat of -i, or the one in the current folder if it may be read; nothing if there is none.
/// Rank 0 reads it for all ranks.
std::optional<HplDat> take_dat(const Communicator& world, const Arguments& arguments) {
  std::string path = arguments.dat;
  std::string text;
  on_rank_0(world, [&] {
    std::error_code error;  // ignored: what cannot be looked at is refused as it is read
    if (arguments.may_take_dat && std::filesystem::exists(default_dat, error)) path = default_dat;
    if (!path.empty()) text = hpl_dat_text(path);
  });
  path = text_of_rank_0(world, std::move(path));
  text = text_of_rank_0(world, std::move(text));
  return path.empty() ? std::nullopt : std::optional(parse_hpl_dat(text, path));
}

void note_dat(const HplDat& dat, const Arguments& arguments, Notes& notes) {
  notes.push_back(arguments.dat.empty()
                      ? fmt::format("options are those of {} in the current folder", dat.path)
                      : fmt::format("options are those of {}", dat.path));
  notes.push_back(ignored_lines(dat, ignored_by(arguments.options)));
  if (*std::max_element(dat.depth.begin(), dat.depth.end()) > deepest_lookahead)
    notes.push_back(fmt::format("depths of the look-ahead above {0} are taken as {0}: {1} line 25",
                                deepest_lookahead, dat.path));
}

void note_waiting(const Communicator& world, const std::vector<Setup>& setups, Notes& notes) {
  std::size_t least = setups.front().machine.hosts.size();
  for (const Setup& setup : setups) least = std::min(least, setup.machine.hosts.size());
  const auto all = static_cast<std::size_t>(world.size());
  if (least < all)
    notes.push_back(fmt::format("ranks that are not in a grid wait: {} of {}{}", all - least, all,
                                setups.size() == 1 ? "" : " at most"));
}

void announce(const std::vector<Setup>& setups, const Notes& notes, ReportOutput& output) {
  Notes told;
  for (const Setup& setup : setups)
    for (const std::string& note : setup.notes)
      if (std::find(told.begin(), told.end(), note) == told.end()) {
        complain("warning: " + note);
        told.push_back(note);
      }
  output.print(report_head(setups, notes));
}

/// The outcome of a campaign.
struct Outcome {
  std::vector<Measured> all;  ///< on rank 0
  RunCounts counts;           ///< on every rank
};

/// Runs the campaign and prints its report, from the head to the end.
Outcome run_and_report(const Communicator& world, Campaign& campaign, const Arguments& arguments,
                       Notes notes, ReportOutput& output, TraceReport* trace) {
  bool checked = true;
  std::optional<Paper> paper;
  on_rank_0(world, [&] {
    const std::vector<Setup> setups = campaign.setups();
    note_waiting(world, setups, notes);
    announce(setups, notes, output);
    checked = setups.front().options.threshold > 0;
    paper = setups.front().machine.paper;
  });
  const bool progress_is_shown = arguments.progress.value_or(error_is_terminal());
  Outcome outcome;
  for (std::size_t i = 0; i < campaign.size(); ++i) {
    ProgressLines lines;
    const ProgressFunction progress = [&](const Progress& now) {
      if (const auto line = lines.line(now)) print_progress(*line);
    };
    Measured measured;
    outcome.counts.passed += campaign.run(
        i, arguments.repeat,
        {.traced = trace != nullptr, .monitor = monitor_of(arguments.monitor, world.rank())},
        progress_is_shown ? progress : ProgressFunction{},
        [&](const Setup& setup, const BenchmarkRun& run, int turn, RunTrace traced) {
          if (trace) trace->add(setup, turn, arguments.repeat, std::move(traced));
          output.print(report_run(setup, run));
          measured.setup = setup;
          measured.runs.push_back(run);
          lines = {};
        });
    outcome.all.push_back(std::move(measured));
  }
  outcome.counts.failed =
      static_cast<int>(campaign.size()) * arguments.repeat - outcome.counts.passed;
  on_rank_0(world, [&] { output.print(report_tail(outcome.counts, checked, paper)); });
  return outcome;
}

/// The command line of the same runs, to paste.
std::string line_of(const Arguments& arguments, int ranks, const Settings& settings) {
  std::vector<std::string> words;
  if (ranks > 1) words = {"mpirun", "-n", std::to_string(ranks)};
  words.insert(words.end(), {arguments.program, settings.command});
  for (const OptionText& option : settings.options) {
    std::string name = "--" + option.name;
    std::replace(name.begin(), name.end(), '_', '-');
    words.insert(words.end(), {std::move(name), option.value});
  }
  return quoted(words);
}

/// The settings of the same runs. Writes them where that is asked for.
Settings settle_again(const Arguments& arguments, const char* command,
                      std::vector<OptionText> options) {
  if (arguments.repeat > 1) options.push_back({"repeat", option_text(arguments.repeat)});
  if (!arguments.blas.empty()) options.push_back({"blas", arguments.blas});
  Settings settings{command, std::move(options)};
  if (!arguments.save_settings.empty())
    write_whole(arguments.save_settings, settings_text(settings));
  return settings;
}

std::string again_lines(const Arguments& arguments, int ranks, const Settings& settings) {
  return fmt::format("\nThe same run again:\n{}\n", line_of(arguments, ranks, settings));
}

/// `speedwell mxp` and `speedwell hpl`: runs every combination of the lists.
int run_one(const Communicator& world, const Arguments& arguments, const std::optional<HplDat>& dat,
            const Profile& profile, const std::string& command_line, const Notes& given,
            TraceReport* trace) {
  Notes notes = given;
  if (dat) note_dat(*dat, arguments, notes);
  ReportOutput output = dat ? ReportOutput(*dat) : ReportOutput();
  const HplDat& lists = dat ? *dat : arguments.choices;
  Campaign campaign(world, configurations(lists, arguments.options, world.size()), 0, profile);
  Settings again;
  on_rank_0(world, [&] {
    again = settle_again(arguments, arguments.command == Command::mxp ? "mxp" : "hpl",
                         options_again(campaign.setups(), lists));
  });
  const Outcome outcome = run_and_report(world, campaign, arguments, notes, output, trace);
  on_rank_0(world, [&] {
    if (!arguments.predict.on) output.print(again_lines(arguments, world.size(), again));
    if (!arguments.json.empty())
      write_json(arguments.json, json_report(outcome.all, command_line, notes));
    output.finish();
  });
  return outcome.counts.failed == 0 ? 0 : 1;
}

/// `speedwell bench`. Both benchmarks are planned before the first one runs.
int run_both(const Communicator& world, const Arguments& arguments, const Profile& profile,
             const std::string& command_line, const Notes& notes, TraceReport* trace) {
  BenchmarkOptions options = arguments.options;
  options.time_target /= 2;
  Campaign mxp(world, {options}, 0, profile);
  std::int64_t n = world.rank() == 0 ? mxp.setups().front().options.n : 0;
  world.broadcast(std::span(&n, 1), 0);
  Campaign hpl(world, {hpl_beside(options, arguments.hpl_n, arguments.hpl_nb)}, n, profile);

  ordered_json system;
  if (!arguments.submission.empty()) {
    on_rank_0(world, [&] { check_submission_folder(arguments.submission); });
    system = system_facts(world);
  }
  Settings again;
  on_rank_0(world, [&] {
    again = settle_again(arguments, "bench",
                         options_again_of_both(mxp.setups().front(), hpl.setups().front()));
  });
  ReportOutput output;
  const Outcome first = run_and_report(world, mxp, arguments, notes, output, trace);
  const std::size_t half = output.printed().size();
  const Outcome second = run_and_report(world, hpl, arguments, notes, output, trace);
  on_rank_0(world, [&] {
    output.print(report_summary(representative(first.all).run, representative(second.all).run));
    if (!arguments.predict.on) output.print(again_lines(arguments, world.size(), again));
    const ordered_json document =
        json_of_both(first.all.front(), second.all.front(), command_line, notes);
    if (!arguments.json.empty()) write_json(arguments.json, document);
    if (arguments.submission.empty()) return;
    const auto submitted = [&](const char* command, const std::vector<Measured>& all,
                               std::string report) {
      const Settings settings{command,
                              options_again({all.front().setup}, choices_of(BenchmarkOptions{}))};
      return SubmittedRun{representative(all).run, std::move(report), settings,
                          line_of(arguments, world.size(), settings)};
    };
    write_submission(arguments.submission,
                     {output.printed(), document, system,
                      submitted("mxp", first.all, output.printed().substr(0, half)),
                      submitted("hpl", second.all, output.printed().substr(half))});
  });
  return first.counts.failed + second.counts.failed == 0 ? 0 : 1;
}

void write_trace(const TraceReport& trace, const std::string& path,
                 const std::string& command_line) {
  trace.write(path, command_line);
  if (trace.left_out() > 0)
    complain(fmt::format("warning: the trace leaves out {} spans that it has no room for",
                         trace.left_out()));
}

}  // namespace

int run_benchmarks(const Communicator& world, const Arguments& arguments, const ProfilePlace& place,
                   const std::string& command_line, const Notes& notes) {
  require_equal_options(world, arguments.common);
  const std::optional<HplDat> dat = take_dat(world, arguments);
  on_rank_0(world, [&] { check_files(arguments, place, dat ? &*dat : nullptr); });
  Notes all_notes = notes;
  const Profile profile = load_profile(world, place, all_notes);
  std::optional<TraceReport> trace;
  if (!arguments.trace.empty()) trace.emplace();
  TraceReport* const traced = trace ? &*trace : nullptr;
  const int status = arguments.command == Command::bench
                         ? run_both(world, arguments, profile, command_line, all_notes, traced)
                         : run_one(world, arguments, dat, profile, command_line, all_notes, traced);
  if (trace) on_rank_0(world, [&] { write_trace(*trace, arguments.trace, command_line); });
  keep_rates(world, place);
  return status;
}

}  // namespace speedwell
