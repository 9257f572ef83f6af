// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// How many threads loops and BLAS take, for a while.
#pragma once

namespace lupine {

/// As long as it lives, OpenMP's loops of the calling thread and OpenBLAS take `threads` threads;
/// then as many as before. Scopes lie within each other, on one thread. A scope inside of one with
/// the same number costs nothing.
///
/// An OpenBLAS with threads of its own has one number for the whole process: threads of a program
/// that call Lupine at the same time had better ask for the same.
class ThreadScope {
 public:
  /// @pre threads >= 1
  explicit ThreadScope(int threads);
  ~ThreadScope();
  ThreadScope(const ThreadScope&) = delete;
  ThreadScope& operator=(const ThreadScope&) = delete;

 private:
  int around_;        // threads of the scope around this one; 0: there is none
  int openmp_ = 0;    // before; 0: this scope changes nothing
  int openblas_ = 0;  // before
};

}  // namespace lupine
