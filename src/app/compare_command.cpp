// SPDX-License-Identifier: BSD-3-Clause
#include "app/compare_command.hpp"

#include <ctime>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "app/files.hpp"
#include "app/monitor.hpp"
#include "app/output.hpp"
#include "bench/campaign.hpp"
#include "comm/agreement.hpp"
#include "compare/contest.hpp"
#include "report/compare_report.hpp"

namespace speedwell {

namespace {

/// One contest for each n. All are planned before the first one runs.
std::vector<std::unique_ptr<Contest>> contests(const Communicator& world,
                                               const Arguments& arguments, const Profile& profile) {
  CompareOptions who = arguments.compare;
  MonitorArguments monitor = arguments.monitor;
  if (who.levels && monitor.seconds == 0) monitor.seconds = MonitorOptions{}.seconds;
  who.monitor = monitor_of(monitor, world.rank());
  std::vector<std::unique_ptr<Contest>> all;
  for (const std::int64_t n : arguments.orders) {
    BenchmarkOptions options = arguments.options;
    options.n = n;
    if (who.levels)
      all.push_back(level_contest(world, who, options, profile));
    else if (who.gallery)  // of a profile, speedwell::solve uses the rates alone
      all.push_back(gallery_contest(world, who, options));
    else
      all.push_back(benchmark_contest(world, who, options, hpl_beside(options, n, arguments.hpl_nb),
                                      profile));
  }
  return all;
}

void run_rounds(const Arguments& arguments, Contest& contest) {
  const bool progress = arguments.progress.value_or(error_is_terminal());
  for (int round = 1; round <= arguments.repeat; ++round)
    contest.round([&](const ComparedSolver& entry) {
      if (progress) print_progress(turn_line(entry, contest.comparison(), round, arguments.repeat));
    });
}

/// Runs and reports all contests, and returns the exit status.
int hold(const Communicator& world, const Arguments& arguments,
         std::vector<std::unique_ptr<Contest>> all, const std::string& command_line,
         const std::vector<std::string>& notes) {
  const Setup setup = all.front()->setup();
  const std::time_t begin = std::time(nullptr);
  on_rank_0(world, [&] {
    for (const std::string& note : setup.notes) complain("warning: " + note);
    print(compare_head(setup, arguments.compare, arguments.orders, arguments.repeat, notes));
  });
  const auto pause = world.run().pause();  // rank 0 runs LAPACK alone
  bool passed = true;
  std::vector<Comparison> comparisons;
  // After each contest, so that one that is killed costs no other.
  const auto keep = [&](const std::vector<Comparison>& done) {
    on_rank_0(world, [&] {
      const std::string& path = arguments.json;
      if (path.empty() || !(is_rewritten(path) || done.size() == all.size())) return;
      try_json(path, [&] {
        return json_of_comparisons(setup, done, arguments.repeat, begin, command_line, notes);
      });
    });
  };
  for (std::unique_ptr<Contest>& contest : all) {
    run_rounds(arguments, *contest);
    passed = contest->passed() && passed;
    comparisons.push_back(contest->comparison());
    contest.reset();  // releases its memory
    keep(comparisons);
    on_rank_0(world, [&] { print(compare_tables(comparisons.back())); });
  }
  return passed ? 0 : 1;
}

}  // namespace

int run_compare(const Communicator& world, const Arguments& arguments, const ProfilePlace& place,
                const std::string& command_line, const std::vector<std::string>& notes) {
  require_equal_options(world, arguments.common);
  on_rank_0(world, [&] { check_files(arguments, place); });
  std::vector<std::string> all_notes = notes;
  const Profile profile = load_profile(world, place, all_notes);
  const int status =
      hold(world, arguments, contests(world, arguments, profile), command_line, all_notes);
  keep_rates(world, place);
  return status;
}

}  // namespace speedwell
