/// @file
/// MPI for a library whose program may know nothing of it.
#pragma once

namespace lupine {

/// Initializes MPI unless somebody has; what is initialized here is finalized at the program's end.
/// @throws UsageError if MPI is finalized already
void start_mpi();

}  // namespace lupine
