// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Who has started this process, and how MPI starts in it.
#pragma once

namespace speedwell {

/// Whether a launcher has started several ranks. (A script of a Slurm job is one process, whatever
/// the job's SLURM_NTASKS.)
bool launched_as_several();

/// Where no launcher is seen, tells Open MPI to start without a daemon and without a folder of
/// files, which only programs need that start others. What the user has set stays. Call it before
/// MPI_Init.
void start_without_daemon();

/// Stands around MPI_Init. Open MPI does not return from one that fails: it ends the process, with
/// status 1. While this lives, such an end has one line of ours, and status 3.
class MpiStartGuard {
 public:
  MpiStartGuard();
  MpiStartGuard(const MpiStartGuard&) = delete;
  MpiStartGuard& operator=(const MpiStartGuard&) = delete;
  ~MpiStartGuard();
};

}  // namespace speedwell
