// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Whether MPI can be called, and the start of MPI for programs that do not call MPI themselves.
#pragma once

namespace speedwell {

/// Initializes MPI (MPI_THREAD_SERIALIZED: for threads that take turns) unless it is initialized
/// already. If this function has initialized MPI, MPI is finalized at the program's exit. @throws
/// UsageError if MPI is finalized already
void start_mpi();

/// Checks that MPI can be called; otherwise most MPI functions would end the program.
/// @throws UsageError unless MPI is initialized and not finalized
void require_mpi();

/// Whether MPI is finalized. Destructors ask this, and do not call MPI if it is.
bool mpi_is_over();

}  // namespace speedwell
