// SPDX-License-Identifier: BSD-3-Clause
#include "app/mpi_launch.hpp"

#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "app/arguments.hpp"
#include "app/output.hpp"
#include "comm/communicator.hpp"

namespace speedwell {

namespace {

constexpr int start_failed = 3;

/// The process in which MPI_Init runs; 0: none. A child that MPI_Init forks is another one.
pid_t& starting_process() {
  static pid_t process = 0;
  return process;
}

/// The status with which this process ends, that the one who ends it calls `status`.
int status_of_end(int status) {
  if (starting_process() != ::getpid() || status == start_failed) return status;
  starting_process() = 0;
  complain(
      fmt::format("MPI_Init has failed on {}: MPI's library ended process {}, and says above "
                  "why",
                  host_name(), ::getpid()));
  return start_failed;
}

void end_at_exit() {
  if (starting_process() == ::getpid()) ::_exit(EXIT_FAILURE);
}

}  // namespace

bool launched_as_several() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"})
    if (const auto ranks = positive_number(std::getenv(name)); ranks && *ranks > 1) return true;
  return false;
}

void start_without_daemon() {
  constexpr std::array launchers{
      "OMPI_COMM_WORLD_SIZE", "PMIX_NAMESPACE", "PMIX_RANK", "PMI_SIZE", "PMI_RANK", "PMI_FD",
      "SLURM_STEP_NUM_TASKS"};
  if (std::ranges::any_of(launchers, [](const char* name) { return std::getenv(name) != nullptr; }))
    return;
  ::setenv("OMPI_MCA_ess_singleton_isolated", "1", 0);
  // Processes alone would have one folder together, which the first that ends removes.
  ::setenv("OMPI_MCA_orte_create_session_dirs", "0", 0);
}

MpiStartGuard::MpiStartGuard() {
  std::atexit(end_at_exit);
  starting_process() = ::getpid();
}

MpiStartGuard::~MpiStartGuard() {
  starting_process() = 0;
}

}  // namespace speedwell

// In the place of the C library's, for the libraries too: Open MPI ends the process by it, past
// what std::atexit() has registered.
// NOLINTNEXTLINE(bugprone-reserved-identifier,readability-identifier-naming)
extern "C" [[gnu::visibility("default")]] void _exit(int status) {
  status = speedwell::status_of_end(status);
  for (;;) ::syscall(SYS_exit_group, status);
}
