// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Whether MPI can be called, and MPI for a library whose program may know nothing of it.
#pragma once

namespace lupine {

/// Initializes MPI unless somebody has; what is initialized here is finalized at the program's end.
/// @throws UsageError if MPI is finalized already
void start_mpi();

/// @throws UsageError unless MPI is initialized and not finalized: any other call of it would end
///         the program without a word of ours
void require_mpi();

/// Whether MPI is finalized. For destructors, which then leave it alone.
bool mpi_is_over();

}  // namespace lupine
