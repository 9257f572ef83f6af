// SPDX-License-Identifier: BSD-3-Clause
#include "app/solve_command.hpp"

#include <fmt/format.h>
#include <speedwell/error.hpp>

#include <algorithm>
#include <ctime>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "app/files.hpp"
#include "app/monitor.hpp"
#include "app/output.hpp"
#include "comm/agreement.hpp"
#include "core/numbers.hpp"
#include "device/checksum_keys.hpp"
#include "io/output_file.hpp"
#include "report/progress.hpp"
#include "report/solve_report.hpp"
#include "setup/run_sensors.hpp"
#include "solve/solver.hpp"
#include "source/matrix_file.hpp"
#include "source/source.hpp"

namespace speedwell {

namespace {

/// The outcome of a solution; equal on every rank but for x.
struct Outcome {
  Solution solution;
  std::string failure;
  std::int64_t bad_pivot = -1;
};

Outcome attempt(const Communicator& world, const Matrix& a, const RightHandSide& b,
                const Arguments& arguments, RunMeter& meter) {
  const RunContext run(world.run().clock(), world.run().stalls(), {.meter = &meter});
  ProgressLines lines;
  const ProgressFunction progress = [&](const Progress& now) {
    if (const auto line = lines.line(now)) print_progress(*line);
  };
  const bool is_shown = arguments.progress.value_or(error_is_terminal());
  try {
    return {solve(world.handle(), a, b, arguments.solve.options,
                  is_shown ? progress : ProgressFunction{}, {}, run),
            "", -1};
  } catch (const AccuracyError& error) {
    return {error.best(), error.what(), -1};
  } catch (const SingularError& error) {
    Solution none;
    none.norm_a = none.condition = unknown;
    return {none, error.what(), error.pivot()};
  }
}

/// x <- NaN for the right-hand sides that are not solved. x may be empty: another rank has it.
void blank_unsolved(Solution& s) {
  if (s.x.empty()) return;
  const auto numbers = static_cast<std::ptrdiff_t>(s.x.size() / s.columns.size());
  auto column = s.x.begin();
  for (std::size_t k = 0; k < s.columns.size(); ++k, column += numbers)
    if (!s.columns[k].converged) std::fill_n(column, numbers, unknown);
}

/// Writes x. Returns whether that could be done: the report is worth having where it could not.
/// Collective.
bool keep_x(const Communicator& world, const SolveRun& run, const SolutionFormat& format,
            const Solution& solution, const MatrixChecksum& of_x) {
  const auto file = world.run().pause();
  std::string why;
  try {
    write_solution(world, run.x, format, run.n, run.right_hand_sides, solution.x, run.field, of_x);
    return true;
  } catch (const UsageError& error) {
    why = error.what();
  }
  if (world.rank() == 0) try_file(run.x, [&] { throw UsageError(why); });
  return false;
}

void report(const Arguments& arguments, const SolveRun& run, const Solution& solution) {
  const std::string text = solve_report(run, solution);
  const std::string& path = arguments.solve.report;
  if (!path.empty()) try_file(path, [&] { write_whole(path, text); });
  if (!arguments.json.empty())
    try_json(arguments.json, [&] { return json_of_solution(run, solution); });
  if (run.bad_pivot < 0) print(text);
  if (!solution.doubt.empty() && !is_failed_by_doubt(run, solution))
    complain("warning: " + solution.doubt);
  for (const std::string& note : solution.notes) complain("warning: " + note);
  if (run.failure.empty()) return;
  complain(is_solved_in_part(run, solution) ? verdict(run, solution) + ": " + run.failure
                                            : run.failure);
}

}  // namespace

int run_solve(const Communicator& world, const Arguments& arguments, const ProfilePlace& place,
              const std::string& command_line, const std::vector<std::string>& notes) {
  const SolveArguments& own = arguments.solve;
  require_equal_options(world, arguments.common);
  on_rank_0(world, [&] {
    require_kind(own.x);
    check_files(arguments, place);
  });
  SolveRun run;
  run.a = own.a;
  run.b = own.b;
  run.x = own.x;
  run.options = arguments.solve.options;
  run.notes = notes;
  load_profile(world, place, run.notes);
  run.command_line = command_line;
  run.begin = std::time(nullptr);
  run.hosts = world.all_gather(host_name());
  const ResidentMeter resident;
  std::optional<StallWatch::Pause> files(world.run().stalls());  // may be slow, or large
  const Matrix a = open_matrix(world, own.a);
  run.n = a.source().n();
  run.field = a.source().field();
  const RightHandSide b = own.b.empty() ? RightHandSide::of_ones()
                                        : open_right_hand_side(world, own.b, run.n, run.field);
  const SolutionFormat format = solution_format(world, own.a, own.b, own.x);
  files.reset();
  run.right_hand_sides = std::max(b.source().count(), std::int64_t{1});
  RunSensors sensors(world, monitor_of(arguments.monitor, world.rank()));
  Outcome outcome = attempt(world, a, b, arguments, sensors);
  MatrixChecksum of_x = checksum_of(outcome.solution.x);
  run.sensors = sensors.take(world);
  const double on_device = outcome.solution.memory.device_peak;
  run.peak = peak_memory(
      world, resident,
      on_device < 0 ? std::nullopt : std::optional(static_cast<std::int64_t>(on_device)));
  run.failure = outcome.failure;
  run.bad_pivot = outcome.bad_pivot;
  const bool in_part = is_solved_in_part(run, outcome.solution);
  if (in_part) {
    blank_unsolved(outcome.solution);
    of_x = checksum_of(outcome.solution.x);
  }
  if (!own.x.empty() && (run.failure.empty() || in_part))
    run.x_is_lost = !keep_x(world, run, format, outcome.solution, of_x);
  run.end = std::time(nullptr);
  on_rank_0(world, [&] { report(arguments, run, outcome.solution); });
  keep_rates(world, place);
  return run.failure.empty() ? 0 : 1;
}

}  // namespace speedwell
