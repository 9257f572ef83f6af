// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The numbers of threads that a program has set, which Speedwell must not change.
#pragma once

#include <omp.h>

#include <ostream>

extern "C" int openblas_get_num_threads();
extern "C" void openblas_set_num_threads(int threads);

namespace speedwell::test {

struct ThreadCounts {
  int openmp = 1;
  int openblas = 1;

  bool operator==(const ThreadCounts&) const = default;
  friend std::ostream& operator<<(std::ostream& to, const ThreadCounts& counts) {
    return to << counts.openmp << " of OpenMP, " << counts.openblas << " of OpenBLAS";
  }
};

inline ThreadCounts thread_counts() {
  return {omp_get_max_threads(), openblas_get_num_threads()};
}

/// OpenBLAS comes first: an OpenBLAS that uses OpenMP's threads sets OpenMP's number too.
inline void set_thread_counts(const ThreadCounts& counts) {
  openblas_set_num_threads(counts.openblas);
  omp_set_num_threads(counts.openmp);
}

/// Sets numbers of threads that differ from Speedwell's and from each other. The destructor
/// restores the numbers before.
class OwnThreadCounts {
 public:
  OwnThreadCounts() { set_thread_counts(counts); }
  ~OwnThreadCounts() { set_thread_counts(before_); }
  OwnThreadCounts(const OwnThreadCounts&) = delete;
  OwnThreadCounts& operator=(const OwnThreadCounts&) = delete;

  static constexpr ThreadCounts counts{5, 4};

 private:
  ThreadCounts before_ = thread_counts();
};

}  // namespace speedwell::test
