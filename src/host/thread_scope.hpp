// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Sets the number of threads of loops and BLAS, for a time.
#pragma once

#include "host/floating_point.hpp"

namespace speedwell {

/// From its constructor to its destructor, BLAS (host/blas_library.hpp) and the calling thread's
/// OpenMP loops use `wanted` threads; after that, as many as before. Scopes nest, each on one
/// thread. A scope inside another one with the same number costs nothing, and little where the
/// numbers are right already.
///
/// Where OpenMP does not give so many, there are as many as it gives: see largest_team(). OpenBLAS
/// waits for ever for threads of its team that do not come.
///
/// All threads of the calling thread's OpenMP loops round to nearest and keep subnormal numbers
/// meanwhile (FloatingPointScope). Threads of a BLAS's own do as they do.
///
/// An OpenBLAS with its own threads has one number for the whole process. So threads of a program
/// that call Speedwell at the same time should ask for the same number.
class ThreadScope {
 public:
  /// @pre wanted >= 1 @throws NotEnoughMemory where a limit leaves no room for them (settle())
  explicit ThreadScope(int wanted);
  ~ThreadScope();
  ThreadScope(const ThreadScope&) = delete;
  ThreadScope& operator=(const ThreadScope&) = delete;

 private:
  FloatingPointScope floating_point_;  // of the calling thread
  int changed_team_ = 0;               // the team of which a thread has been set; 0: none
  int around_;                         // the number of the enclosing scope; 0: there is none
  int openmp_ = 0;        // OpenMP's number before this scope; 0: this scope changes nothing
  int blas_ = 0;          // that of BLAS before this scope
  bool adjusts_ = false;  // whether OpenMP was free to take fewer threads before this scope
};

/// The most threads that a parallel region of the calling thread gets: one inside a region where
/// OpenMP allows no further level (OMP_MAX_ACTIVE_LEVELS), and in a child of a process that had
/// threads when it forked, since the child has none of them; else OMP_THREAD_LIMIT.
int largest_team();

}  // namespace speedwell
