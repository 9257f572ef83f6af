#include "comm/mpi_start.hpp"

#include <mpi.h>
#include <lupine/error.hpp>

#include <cstdlib>

#include "comm/communicator.hpp"

namespace lupine {

namespace {

bool is_over() {
  int over = 0;
  return MPI_Finalized(&over) != MPI_SUCCESS || over != 0;
}

void finish() {
  if (!is_over()) MPI_Finalize();
}

}  // namespace

void start_mpi() {
  if (is_over()) throw UsageError("MPI is finalized already; allowed: a call before MPI_Finalize");
  int started = 0;
  check_mpi(MPI_Initialized(&started), "MPI_Initialized");
  if (started != 0) return;
  int provided = 0;
  check_mpi(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided), "MPI_Init_thread");
  std::atexit(finish);
}

}  // namespace lupine
