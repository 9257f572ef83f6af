// SPDX-License-Identifier: BSD-3-Clause
#include "comm/mpi_start.hpp"

#include <mpi.h>
#include <unistd.h>
#include <speedwell/error.hpp>

#include <cstdlib>

#include "comm/communicator.hpp"
#include "core/forks.hpp"

namespace speedwell {

namespace {

/// The process that has started MPI, which a child of its fork() does not end.
pid_t& starter() {
  static pid_t process = 0;
  return process;
}

bool is_started() {
  int started = 0;
  check_mpi(MPI_Initialized(&started), "MPI_Initialized");
  return started != 0;
}

void require_not_over() {
  if (mpi_is_over())
    throw UsageError("MPI is finalized already; allowed: a call before MPI_Finalize");
}

void finish() {
  if (::getpid() == starter() && !mpi_is_over()) MPI_Finalize();
}

}  // namespace

bool mpi_is_over() {
  int over = 0;
  return MPI_Finalized(&over) != MPI_SUCCESS || over != 0;
}

void require_mpi() {
  require_not_over();
  if (!is_started()) throw UsageError("MPI is not initialized; allowed: a call after MPI_Init");
}

void start_mpi() {
  require_not_over();
  if (is_started()) return;
  const auto no_forks = hold_forks();  // MPI itself forks here, on this thread
  int provided = 0;
  check_mpi(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided), "MPI_Init_thread");
  starter() = ::getpid();
  std::atexit(finish);
}

}  // namespace speedwell
