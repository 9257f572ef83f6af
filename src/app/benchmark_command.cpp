// SPDX-License-Identifier: BSD-3-Clause
#include "app/benchmark_command.hpp"

#include <fmt/format.h>
#include <speedwell/error.hpp>

#include <algorithm>
#include <filesystem>
#include <functional>
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
#include "document/benchmark_json.hpp"
#include "document/benchmark_report.hpp"
#include "document/trace_report.hpp"
#include "io/hpl_dat.hpp"
#include "io/output_file.hpp"
#include "report/progress.hpp"
#include "report/same_run.hpp"
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

/// The document of the runs so far.
using DocumentOf = std::function<ordered_json(const std::vector<Measured>&)>;

/// The files of a command's runs. They are written again after each run, whole, so that a command
/// that is killed loses no run; pipes and devices only after the last one. For rank 0.
struct RunFiles {
  const Arguments& arguments;
  const std::string& command_line;
  TraceReport* trace;  ///< null: none

  void write(const std::function<ordered_json()>& document, bool last) const {
    const auto is_due = [&](const std::string& path) {
      return !path.empty() && (last || is_rewritten(path));
    };
    if (is_due(arguments.json)) try_json(arguments.json, document);
    if (trace && is_due(arguments.trace))
      try_file(arguments.trace, [&] { trace->write(arguments.trace, command_line); });
  }
};

/// Runs the campaign and prints its report, from the head to the end.
/// @param is_last whether the command ends with it
Outcome run_and_report(const Communicator& world, Campaign& campaign, const RunFiles& files,
                       Notes notes, ReportOutput& output, const DocumentOf& document,
                       bool is_last) {
  const Arguments& arguments = files.arguments;
  TraceReport* const trace = files.trace;
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
    outcome.counts.passed += campaign.run(
        i, arguments.repeat,
        {.traced = trace != nullptr, .monitor = monitor_of(arguments.monitor, world.rank())},
        progress_is_shown ? progress : ProgressFunction{},
        [&](const Setup& setup, const BenchmarkRun& run, int turn, RunTrace traced) {
          if (trace) trace->add(setup, turn, arguments.repeat, std::move(traced));
          if (turn == 0) outcome.all.push_back({setup, {}});
          outcome.all.back().runs.push_back(run);
          const bool none_follows = i + 1 == campaign.size() && turn + 1 == arguments.repeat;
          files.write([&] { return document(outcome.all); }, is_last && none_follows);
          output.print(report_run(setup, run));
          lines = {};
        });
  }
  outcome.counts.failed =
      static_cast<int>(campaign.size()) * arguments.repeat - outcome.counts.passed;
  on_rank_0(world, [&] { output.print(report_tail(outcome.counts, checked, paper)); });
  return outcome;
}

/// The command line of the same runs, to paste.
std::string line_of(const Arguments& arguments, int ranks, const char* command,
                    const std::vector<OptionText>& options) {
  std::vector<std::string> words;
  if (ranks > 1) words = {"mpirun", "-n", std::to_string(ranks)};
  words.insert(words.end(), {arguments.program, command});
  const std::vector<std::string> own = words_of(options);
  words.insert(words.end(), own.begin(), own.end());
  return quoted(words);
}

/// The end of a report: the same runs, with as many repetitions and the same BLAS.
std::string again_lines(const Arguments& arguments, int ranks, const char* command,
                        std::vector<OptionText> options) {
  if (arguments.repeat > 1) options.push_back({"repeat", option_text(arguments.repeat)});
  if (!arguments.blas.empty()) options.push_back({"blas", arguments.blas});
  return fmt::format("\nThe same run again:\n{}\n", line_of(arguments, ranks, command, options));
}

/// `speedwell mxp` and `speedwell hpl`: runs every combination of the lists.
int run_one(const Communicator& world, const RunFiles& files, const std::optional<HplDat>& dat,
            const Profile& profile, const Notes& given) {
  const Arguments& arguments = files.arguments;
  Notes notes = given;
  if (dat) note_dat(*dat, arguments, notes);
  ReportOutput output = dat ? ReportOutput(*dat) : ReportOutput();
  const HplDat& lists = dat ? *dat : arguments.choices;
  Campaign campaign(world, configurations(lists, arguments.options, world.size()), 0, profile);
  const int planned = static_cast<int>(campaign.size()) * arguments.repeat;
  const DocumentOf document = [&](const std::vector<Measured>& all) {
    return json_report(all, files.command_line, notes, planned);
  };
  const Outcome outcome = run_and_report(world, campaign, files, notes, output, document, true);
  on_rank_0(world, [&] {
    if (!arguments.predict.on)
      output.print(again_lines(arguments, world.size(),
                               arguments.command == Command::mxp ? "mxp" : "hpl",
                               options_again(campaign.setups(), lists)));
    output.finish();
  });
  return outcome.counts.failed == 0 ? 0 : 1;
}

/// `speedwell bench`. Both benchmarks are planned before the first one runs.
int run_both(const Communicator& world, const RunFiles& files, const Profile& profile,
             const Notes& notes) {
  const Arguments& arguments = files.arguments;
  BenchmarkOptions options = arguments.options;
  options.time_target /= 2;
  Campaign mxp(world, {options}, 0, profile);
  std::int64_t n = world.rank() == 0 ? mxp.setups().front().options.n : 0;
  world.broadcast(std::span(&n, 1), 0);
  Campaign hpl(world, {hpl_beside(options, arguments.hpl_n, arguments.hpl_nb)}, n, profile);

  ordered_json system;
  std::optional<SubmissionFolder> folder;
  if (!arguments.submission.empty()) {
    on_rank_0(world, [&] { folder.emplace(arguments.submission); });
    system = system_facts(world);
  }
  ReportOutput output;
  const auto document = [&](const Measured& one, const Measured* other) {
    return json_of_both(one, other, files.command_line, notes, arguments.repeat);
  };
  const Outcome first = run_and_report(
      world, mxp, files, notes, output,
      [&](const std::vector<Measured>& all) { return document(all.front(), nullptr); }, false);
  const std::size_t half = output.printed().size();
  const Outcome second = run_and_report(
      world, hpl, files, notes, output,
      [&](const std::vector<Measured>& all) { return document(first.all.front(), &all.front()); },
      true);
  on_rank_0(world, [&] {
    output.print(report_summary(representative(first.all).run, representative(second.all).run));
    if (!arguments.predict.on)
      output.print(again_lines(arguments, world.size(), "bench",
                               options_again_of_both(mxp.setups().front(), hpl.setups().front())));
    if (!folder) return;
    const auto submitted = [&](const char* command, const std::vector<Measured>& all,
                               std::string report) {
      std::vector<OptionText> own = options_alone(all.front().setup);
      std::string line = line_of(arguments, world.size(), command, own);
      return SubmittedRun{representative(all).run, std::move(report), std::move(own),
                          std::move(line)};
    };
    folder->write({output.printed(), document(first.all.front(), &second.all.front()), system,
                   submitted("mxp", first.all, output.printed().substr(0, half)),
                   submitted("hpl", second.all, output.printed().substr(half))});
  });
  return first.counts.failed + second.counts.failed == 0 ? 0 : 1;
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
  const RunFiles files{arguments, command_line, trace ? &*trace : nullptr};
  const int status = arguments.command == Command::bench
                         ? run_both(world, files, profile, all_notes)
                         : run_one(world, files, dat, profile, all_notes);
  if (world.rank() == 0 && trace && trace->left_out() > 0)
    complain(fmt::format("warning: the trace leaves out {} spans that it has no room for",
                         trace->left_out()));
  keep_rates(world, place);
  return status;
}

}  // namespace speedwell
