// SPDX-License-Identifier: BSD-3-Clause
// A preloaded library: with SPEEDWELL_STOP=RANK:CALL, that rank stops in its call of MPI_Isend or
// MPI_Irecv with that number, as if by kill -STOP, in MPI_Init_thread with number 0, in
// MPI_Finalize with -1, or in call k of MPI_Allgather with -1-k. So it stops in the middle of its
// work, however fast or slow the machine is.
#include <mpi.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>

namespace {

void stop(int rank, long present) {
  const char* text = std::getenv("SPEEDWELL_STOP");
  int wanted = -1;
  long call = 0;
  if (text == nullptr || std::sscanf(text, "%d:%ld", &wanted, &call) != 2) return;
  if (rank == wanted && present == call) std::raise(SIGSTOP);
}

void stop_this(long present) {
  int rank = -1;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  stop(rank, present);
}

void count() {
  static long calls = 0;
  stop_this(++calls);
}

}  // namespace

extern "C" int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMI_RANK"})
    if (const char* rank = std::getenv(name)) stop(std::atoi(rank), 0);
  return PMPI_Init_thread(argc, argv, required, provided);
}

extern "C" int MPI_Finalize() {
  stop_this(-1);
  return PMPI_Finalize();
}

extern "C" int MPI_Allgather(const void* data, int elements, MPI_Datatype type, void* to, int count,
                             MPI_Datatype to_type, MPI_Comm comm) {
  static long calls = 0;
  stop_this(-1 - ++calls);
  return PMPI_Allgather(data, elements, type, to, count, to_type, comm);
}

extern "C" int MPI_Isend(const void* data, int elements, MPI_Datatype type, int to, int tag,
                         MPI_Comm comm, MPI_Request* request) {
  count();
  return PMPI_Isend(data, elements, type, to, tag, comm, request);
}

extern "C" int MPI_Irecv(void* data, int elements, MPI_Datatype type, int from, int tag,
                         MPI_Comm comm, MPI_Request* request) {
  count();
  return PMPI_Irecv(data, elements, type, from, tag, comm, request);
}
