// SPDX-License-Identifier: BSD-3-Clause
#include "comm/mpi_start.hpp"

#include <mpi.h>
#include <pthread.h>
#include <unistd.h>
#include <lupine/error.hpp>

#include <cstdlib>
#include <mutex>

#include "comm/communicator.hpp"

namespace lupine {

namespace {

/// The process that has started MPI, which a child of its fork() does not end.
pid_t& starter() {
  static pid_t process = 0;
  return process;
}

// Held while MPI is initialized, for which a fork() of another thread waits: its child would have
// half of MPI. MPI itself forks meanwhile, on the thread that holds it.
std::recursive_mutex& starting() {
  static std::recursive_mutex mutex;
  return mutex;
}

void keep_from_forks() {
  const auto unlock = [] { starting().unlock(); };
  pthread_atfork([] { starting().lock(); }, unlock, unlock);
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
  static std::once_flag kept;
  std::call_once(kept, keep_from_forks);
  const std::lock_guard lock(starting());
  int provided = 0;
  check_mpi(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided), "MPI_Init_thread");
  starter() = ::getpid();
  std::atexit(finish);
}

}  // namespace lupine
