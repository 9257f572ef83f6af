// SPDX-License-Identifier: BSD-3-Clause
// The results of Speedwell's functions, for a source that does not know MPI.
#include <speedwell/benchmark_result.hpp>
#include <speedwell/solution.hpp>

#ifdef MPI_VERSION
#error a header of results includes mpi.h
#endif
