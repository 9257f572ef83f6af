// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// MPI for a process alone: the functions of MPI that Speedwell calls, for communicators of one
/// rank. The module of a process alone is linked with this file in the place of an MPI library, so
/// that it needs none, and starts no daemon.
///
/// A collective operation of one rank copies its input, and there is nobody to send to: messages
/// between two ranks fail with MPI_ERR_RANK. All communicators are one and the same.
#include <mpi.h>
#include <unistd.h>

#if defined(OPEN_MPI) && __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif

#include <cstdlib>
#include <cstring>

#ifdef OPEN_MPI
// What Open MPI's constants point to. Only their addresses count; their types are unknown outside.
#define SPEEDWELL_OBJECT(name)              \
  extern "C" {                              \
  char speedwell_##name[8] asm(#name) = {}; \
  }
SPEEDWELL_OBJECT(ompi_mpi_byte)
SPEEDWELL_OBJECT(ompi_mpi_char)
SPEEDWELL_OBJECT(ompi_mpi_comm_null)
SPEEDWELL_OBJECT(ompi_mpi_comm_self)
SPEEDWELL_OBJECT(ompi_mpi_comm_world)
SPEEDWELL_OBJECT(ompi_mpi_double)
SPEEDWELL_OBJECT(ompi_mpi_errors_return)
SPEEDWELL_OBJECT(ompi_mpi_info_null)
SPEEDWELL_OBJECT(ompi_mpi_int)
SPEEDWELL_OBJECT(ompi_mpi_int64_t)
SPEEDWELL_OBJECT(ompi_mpi_op_max)
SPEEDWELL_OBJECT(ompi_mpi_op_min)
SPEEDWELL_OBJECT(ompi_mpi_op_sum)
SPEEDWELL_OBJECT(ompi_request_null)
#undef SPEEDWELL_OBJECT
#endif

namespace {

std::size_t bytes_of(int count, MPI_Datatype type) {
  const std::size_t each = type == MPI_DOUBLE || type == MPI_INT64_T ? 8 : type == MPI_INT ? 4 : 1;
  return each * static_cast<std::size_t>(count);
}

int copy(const void* from, void* to, int count, MPI_Datatype type) {
  if (from != MPI_IN_PLACE && from != to && count > 0)
    std::memmove(to, from, bytes_of(count, type));
  return MPI_SUCCESS;
}

/// A request that is complete as soon as it is made.
int complete(MPI_Request* request) {
  *request = MPI_REQUEST_NULL;
  return MPI_SUCCESS;
}

int give(const char* text, char* to, int* length) {
  std::strcpy(to, text);
  *length = static_cast<int>(std::strlen(text));
  return MPI_SUCCESS;
}

}  // namespace

int MPI_Init_thread(int*, char***, int required, int* provided) {
  *provided = required;
  return MPI_SUCCESS;
}
int MPI_Initialized(int* flag) {
  *flag = 1;
  return MPI_SUCCESS;
}
int MPI_Finalized(int* flag) {
  *flag = 0;
  return MPI_SUCCESS;
}
int MPI_Finalize() {
  return MPI_SUCCESS;
}
int MPI_Abort(MPI_Comm, int status) {
  std::_Exit(status);
}
int MPI_Error_string(int code, char* text, int* length) {
  return give(code == MPI_ERR_RANK ? "a process alone has no other rank" : "unknown error", text,
              length);
}
int MPI_Get_processor_name(char* name, int* length) {
  if (gethostname(name, MPI_MAX_PROCESSOR_NAME) != 0) std::strcpy(name, "unknown host");
  name[MPI_MAX_PROCESSOR_NAME - 1] = '\0';
  *length = static_cast<int>(std::strlen(name));
  return MPI_SUCCESS;
}
int MPI_Get_library_version(char* text, int* length) {
  return give("none: a process alone", text, length);
}
#if defined(OPEN_MPI) && defined(MPIX_CUDA_AWARE_SUPPORT)
int MPIX_Query_cuda_support() {
  return 0;
}
#endif

int MPI_Comm_set_errhandler(MPI_Comm, MPI_Errhandler) {
  return MPI_SUCCESS;
}
int MPI_Comm_rank(MPI_Comm, int* rank) {
  *rank = 0;
  return MPI_SUCCESS;
}
int MPI_Comm_size(MPI_Comm, int* size) {
  *size = 1;
  return MPI_SUCCESS;
}
int MPI_Comm_dup(MPI_Comm comm, MPI_Comm* made) {
  *made = comm;
  return MPI_SUCCESS;
}
int MPI_Comm_split(MPI_Comm comm, int color, int, MPI_Comm* made) {
  *made = color == MPI_UNDEFINED ? MPI_COMM_NULL : comm;
  return MPI_SUCCESS;
}
int MPI_Comm_split_type(MPI_Comm comm, int type, int, MPI_Info, MPI_Comm* made) {
  return MPI_Comm_split(comm, type, 0, made);
}
int MPI_Comm_free(MPI_Comm* comm) {
  *comm = MPI_COMM_NULL;
  return MPI_SUCCESS;
}

int MPI_Barrier(MPI_Comm) {
  return MPI_SUCCESS;
}
int MPI_Ibarrier(MPI_Comm, MPI_Request* request) {
  return complete(request);
}
int MPI_Bcast(void*, int, MPI_Datatype, int, MPI_Comm) {
  return MPI_SUCCESS;
}
int MPI_Ibcast(void*, int, MPI_Datatype, int, MPI_Comm, MPI_Request* request) {
  return complete(request);
}
int MPI_Allreduce(const void* in, void* out, int count, MPI_Datatype type, MPI_Op, MPI_Comm) {
  return copy(in, out, count, type);
}
int MPI_Iallreduce(const void* in, void* out, int count, MPI_Datatype type, MPI_Op, MPI_Comm,
                   MPI_Request* request) {
  copy(in, out, count, type);
  return complete(request);
}
int MPI_Reduce(const void* in, void* out, int count, MPI_Datatype type, MPI_Op, int, MPI_Comm) {
  return copy(in, out, count, type);
}
int MPI_Allgather(const void* in, int count, MPI_Datatype type, void* out, int, MPI_Datatype,
                  MPI_Comm) {
  return copy(in, out, count, type);
}
int MPI_Allgatherv(const void* in, int count, MPI_Datatype type, void* out, const int*,
                   const int* begins, MPI_Datatype, MPI_Comm) {
  return copy(in, static_cast<char*>(out) + bytes_of(begins[0], type), count, type);
}
int MPI_Alltoall(const void* in, int count, MPI_Datatype type, void* out, int, MPI_Datatype,
                 MPI_Comm) {
  return copy(in, out, count, type);
}

int MPI_Send(const void*, int, MPI_Datatype, int, int, MPI_Comm) {
  return MPI_ERR_RANK;
}
int MPI_Recv(void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Status*) {
  return MPI_ERR_RANK;
}
int MPI_Isend(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*) {
  return MPI_ERR_RANK;
}
int MPI_Irecv(void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*) {
  return MPI_ERR_RANK;
}
int MPI_Iprobe(int, int, MPI_Comm, int* heard, MPI_Status*) {
  *heard = 0;
  return MPI_SUCCESS;
}
/// The one message that a rank may send to itself: both halves are in one call.
int MPI_Sendrecv(const void* out, int count, MPI_Datatype type, int to, int, void* in, int,
                 MPI_Datatype, int from, int, MPI_Comm, MPI_Status*) {
  if (to == MPI_PROC_NULL && from == MPI_PROC_NULL) return MPI_SUCCESS;
  return to == 0 && from == 0 ? copy(out, in, count, type) : MPI_ERR_RANK;
}

int MPI_Test(MPI_Request* request, int* done, MPI_Status*) {
  *done = 1;
  return complete(request);
}
int MPI_Testall(int, MPI_Request*, int* done, MPI_Status*) {
  *done = 1;
  return MPI_SUCCESS;
}
int MPI_Testsome(int, MPI_Request*, int* done, int*, MPI_Status*) {
  *done = MPI_UNDEFINED;  // no request is active
  return MPI_SUCCESS;
}
int MPI_Waitall(int, MPI_Request*, MPI_Status*) {
  return MPI_SUCCESS;
}
int MPI_Waitsome(int, MPI_Request*, int* done, int*, MPI_Status*) {
  *done = MPI_UNDEFINED;
  return MPI_SUCCESS;
}
int MPI_Cancel(MPI_Request*) {
  return MPI_SUCCESS;
}
int MPI_Request_free(MPI_Request* request) {
  return complete(request);
}
