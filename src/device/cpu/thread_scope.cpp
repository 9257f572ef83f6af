// SPDX-License-Identifier: BSD-3-Clause
#include "device/cpu/thread_scope.hpp"

#include <cblas.h>
#include <omp.h>

#include <utility>

#include "core/expects.hpp"

namespace lupine {

namespace {
// The number of threads of the calling thread's innermost scope; 0: there is no scope.
int& present() {
  thread_local int threads = 0;
  return threads;
}
}  // namespace

ThreadScope::ThreadScope(int threads) : around_(std::exchange(present(), threads)) {
  LUPINE_EXPECTS(threads >= 1);
  if (threads == around_) return;
  const int openmp = omp_get_max_threads();
  const int openblas = openblas_get_num_threads();
  if (openmp == threads && openblas == threads) return;
  openmp_ = openmp;
  openblas_ = openblas;
  omp_set_num_threads(threads);
  openblas_set_num_threads(threads);
}

// An OpenBLAS that is built on OpenMP sets OpenMP's number too, so OpenMP's is put back last.
ThreadScope::~ThreadScope() {
  present() = around_;
  if (openmp_ == 0) return;
  openblas_set_num_threads(openblas_);
  omp_set_num_threads(openmp_);
}

}  // namespace lupine
