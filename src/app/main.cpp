// SPDX-License-Identifier: BSD-3-Clause
/// The `speedwell` command.
#include <fmt/format.h>
#include <unistd.h>
#include <speedwell/error.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <span>

#include "app/arguments.hpp"
#include "app/benchmark_command.hpp"
#include "app/check_command.hpp"
#include "app/compare_command.hpp"
#include "app/environment_check.hpp"
#include "app/files.hpp"
#include "app/info.hpp"
#include "app/mpi_launch.hpp"
#include "app/output.hpp"
#include "app/predictions.hpp"
#include "app/profile_place.hpp"
#include "app/solve_command.hpp"
#include "app/submission_folder.hpp"
#include "app/tune_command.hpp"
#include "comm/agreement.hpp"
#include "comm/communicator.hpp"
#include "comm/run_watch.hpp"
#include "cpu/isa.hpp"
#include "host/blas_kernels.hpp"
#include "host/blas_library.hpp"
#include "host/floating_point.hpp"

namespace speedwell {
namespace {

/// CUDA has eight connections to a GPU by default, and streams that share a connection wait for
/// each other. Speedwell has more than eight streams. And a kernel that is loaded at its first
/// launch may wait for the whole GPU, on which a kernel of NCCL may wait for another rank that
/// needs this one. Values that the user set stay. But how cuBLAS computes is no matter of the
/// environment: Speedwell tells each handle (device/cuda/blas_emulation.hpp), and no documentation
/// says that this prevails over each of these.
void prepare_cuda() {
  for (const char* variable :
       {"CUBLAS_EMULATE_DOUBLE_PRECISION", "CUBLAS_EMULATE_SINGLE_PRECISION",
        "CUBLAS_EMULATION_STRATEGY", "CUBLAS_EMULATION_SPECIAL_VALUES_SUPPORT_MASK",
        "CUBLAS_FIXEDPOINT_EMULATION_MANTISSA_BIT_COUNT"})
    ::unsetenv(variable);
  ::setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
  ::setenv("CUDA_MODULE_LOADING", "EAGER", 0);
}

/// Has the BLAS of --blas, or else of SPEEDWELL_BLAS, loaded before its first call.
/// @throws UsageError
void choose_blas(Arguments& arguments) {
  const char* const named = std::getenv("SPEEDWELL_BLAS");
  if (!arguments.blas.empty())
    ::setenv("SPEEDWELL_BLAS", arguments.blas.c_str(), 1);
  else if (named != nullptr)
    arguments.blas = named;
  is_other_blas();
}

/// The command line, which is read once, before MPI starts.
struct CommandLine {
  std::vector<std::string> words;
  Arguments arguments{};
  std::optional<UsageError> refusal{};  ///< ranks of a launcher refuse together

  /// @throws UsageError
  const Arguments& accepted() const {
    if (refusal) throw UsageError(*refusal);
    return arguments;
  }
};

/// Reads the words. Without predictions `speedwell predict` is refused, but for its help.
CommandLine read_command_line(std::vector<std::string> words) {
  CommandLine line{std::move(words)};
  const std::vector<std::string> given(line.words.begin() + 1, line.words.end());
  const auto has = [&](const char* word) { return std::ranges::count(given, word) > 0; };
  const bool predicts = !given.empty() && given[0] == "predict" && !has("-h") && !has("--help");
  try {
    if (predicts && !why_no_predictions().empty())
      throw UsageError(std::string(why_no_predictions()));
    line.arguments = parse_arguments(given);
    line.arguments.program = line.words[0];
    const bool is_help = line.arguments.command == Command::print && has("predict");
    if (is_help && given[0] != "man" && !why_no_predictions().empty())
      line.arguments.text += fmt::format("\nNot here: {}\n", why_no_predictions());
  } catch (const UsageError& error) {
    line.refusal = error;
  }
  return line;
}

/// `speedwell predict` simulates all ranks in one process, on SimGrid's MPI: a program of its own
/// takes the place of this one.
[[noreturn]] void predict(char** argv) {
  const std::filesystem::path program =
      std::filesystem::read_symlink("/proc/self/exe").replace_filename("speedwell-predict");
  ::execv(program.c_str(), argv);
  throw UsageError(fmt::format("{} cannot be started: {}; allowed: where it is beside speedwell",
                               program.string(), std::strerror(errno)));
}

/// Whether a simulation takes the place of a run.
bool is_simulated(const Arguments& arguments) {
  return arguments.predict.on && arguments.command != Command::calibrate &&
         arguments.command != Command::print;
}

/// Runs what needs neither other ranks nor MPI where no launcher has started several: so that it
/// works where MPI does not, as on a node for logging in or building. Refuses bad words too.
/// Returns nothing where there is more to do.
std::optional<int> run_alone(const CommandLine& line, char** argv) {
  if (launched_as_several()) return std::nullopt;
  Arguments arguments = line.accepted();
  if (is_simulated(arguments)) predict(argv);
  int status = 0;
  if (arguments.command == Command::print) {
    print(arguments.text);
  } else if (arguments.command == Command::info) {
    allowed_cpu_isa();
    choose_blas(arguments);
    check_files(arguments, {});
    run_info(arguments.json, 1, [] { return CoreShare{processor_info()}; });
  } else if (arguments.command == Command::verify) {
    status = verify_submission(arguments.submission);
  } else {
    return std::nullopt;
  }
  return std::max(status, lost_status());
}

/// The arguments of the command line, the same on all ranks.
Arguments agreed_arguments(const Communicator& world, const CommandLine& line) {
  Arguments arguments = agreed(world, [&] {
    allowed_cpu_isa();
    return line.accepted();
  });
  // Ranks of different commands would wait for each other's messages.
  const bool prints = arguments.command == Command::print;
  require_equal_options(world, {{"command", prints ? "help or version" : line.words[1]}});
  if (is_simulated(arguments))
    throw UsageError("predict simulates all ranks in one process; allowed: without mpirun");
  agree(world, [&] { choose_blas(arguments); });
  return arguments;
}

int run_command(const Communicator& world, const CommandLine& line) {
  const std::string words = quoted(line.words);
  std::vector<std::string> notes;
  Arguments arguments = agreed_arguments(world, line);
  if (const std::string& kernels = settle_blas_kernels(); !kernels.empty() && !is_other_blas())
    notes.push_back(kernels);
  RunOptions& run = run_options(arguments);
  switch (arguments.command) {
    case Command::mxp:
    case Command::hpl:
    case Command::bench:
    case Command::compare:
    case Command::tune:
    case Command::check:
    case Command::solve:
      if (const auto threads = positive_number(std::getenv("OMP_NUM_THREADS"));
          threads && run.threads == 0) {
        run.threads = *threads;
        notes.push_back(fmt::format("threads are those of OMP_NUM_THREADS={}", *threads));
      }
      for (const std::string& difference :
           environment_differences(world, environment_here(host_name(), ::environ))) {
        complain("warning: " + difference);
        notes.push_back(difference);
      }
      if (arguments.command == Command::solve)
        return run_solve(world, arguments, profile_place(arguments.profile), words, notes);
      if (arguments.command == Command::compare)
        return run_compare(world, arguments, profile_place(arguments.profile), words, notes);
      if (arguments.command == Command::check) return run_check(world, arguments, words, notes);
      if (arguments.command == Command::tune)
        return run_tune(world, arguments, profile_place(arguments.profile), words, notes);
      return run_benchmarks(world, arguments, profile_place(arguments.profile), words, notes);
    case Command::calibrate:
      return run_calibration(world, arguments);
    case Command::info: {
      CoreShare share = core_share(world);
      on_rank_0(world, [&] {
        check_files(arguments, {});
        run_info(arguments.json, world.size(), [&] { return share; });
      });
      return 0;
    }
    case Command::verify: {
      std::int64_t status = 0;
      on_rank_0(world, [&] { status = verify_submission(arguments.submission); });
      world.broadcast(std::span(&status, 1), 0);
      return static_cast<int>(status);
    }
    case Command::print:
      on_rank_0(world, [&] { print(arguments.text); });
      return 0;
  }
  return 0;
}

/// The limit of --stall-timeout, before the ranks can agree that the command line is a good one,
/// and at least the time that a launcher may need to start or end all ranks.
double launch_limit(const CommandLine& line) {
  constexpr double least = 5;
  if (line.refusal) return default_stall_timeout;
  const double limit = run_options(line.arguments).stall_timeout;
  return limit > 0 ? std::max(limit, least) : 0;
}

int run(const CommandLine& line, int& argc, char**& argv) {
  const FloatingPointScope floating_point;  // libraries that are loaded first may have changed it
  const double limit = launch_limit(line);
  std::optional<ProcessWatch> watch;  // outlives what it watches
  watch.emplace(limit, "to start", "MPI_Init");
  start_without_daemon();
  std::optional<MpiStartGuard> guard(std::in_place);
  const MpiSession mpi(argc, argv);
  guard.reset();
  const SteadyClock clock;
  const RunWatch between_runs(comm_world(), clock, limit);
  const RunContext context(clock, between_runs.stalls());
  const Communicator world = Communicator::duplicate(comm_world(), context);
  watch.reset();
  const Ending ending = ending_of([&] {
    const std::int64_t status = run_command(world, line);
    return static_cast<int>(
        world.all_reduce(std::max<std::int64_t>(status, lost_status()), Reduction::max));
  });
  if (!ending.everywhere) {
    complain(fmt::format("rank {} on {}: {}", world.rank(), host_name(), ending.complaint));
    world.abort(ending.status);
  }
  if (world.rank() == 0) finish(ending);
  // A launcher may kill all ranks as soon as one exits with a status: so rank 0 writes its line
  // before any rank exits.
  watch.emplace(limit, "to end", "MPI_Finalize");
  world.barrier();
  return ending.status;
}

}  // namespace
}  // namespace speedwell

int main(int argc, char** argv) {
  ::alarm(0);  // set by start_limit.cpp
  return speedwell::finish(speedwell::ending_of([&] {
    speedwell::prepare_streams();
    const auto line = speedwell::read_command_line({argv, argv + argc});
    if (const auto status = speedwell::run_alone(line, argv)) return *status;
    speedwell::prepare_cuda();
    speedwell::settle_blas_kernels();  // before MPI's threads run
    return speedwell::run(line, argc, argv);
  }));
}
