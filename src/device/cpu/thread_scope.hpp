// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Sets the number of threads of loops and BLAS, for a time.
#pragma once

namespace lupine {

/// From its constructor to its destructor, OpenBLAS and the calling thread's OpenMP loops use
/// `threads` threads; after that, as many as before. Scopes nest, each on one thread. A scope
/// inside another one with the same number costs nothing, and little where the numbers are right
/// already.
///
/// An OpenBLAS with its own threads has one number for the whole process. So threads of a program
/// that call Lupine at the same time should ask for the same number.
class ThreadScope {
 public:
  /// @pre threads >= 1
  explicit ThreadScope(int threads);
  ~ThreadScope();
  ThreadScope(const ThreadScope&) = delete;
  ThreadScope& operator=(const ThreadScope&) = delete;

 private:
  int around_;        // the number of the enclosing scope; 0: there is none
  int openmp_ = 0;    // OpenMP's number before this scope; 0: this scope changes nothing
  int openblas_ = 0;  // OpenBLAS's number before this scope
};

}  // namespace lupine
