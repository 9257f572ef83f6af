// SPDX-License-Identifier: BSD-3-Clause
#include "host/thread_scope.hpp"

#include <omp.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <utility>

#include "core/expects.hpp"
#include "host/blas_library.hpp"
#include "host/limited_space.hpp"

namespace lupine {

namespace {
// The number of threads of the calling thread's innermost scope; 0: there is no scope.
int& present() {
  thread_local int threads = 0;
  return threads;
}

// Whether this process is a child whose parent had threads when it forked: threads of OpenMP stay
// in its pool between regions, and fork() copies the pool, but not the threads.
std::atomic<bool>& has_lost_pool() {
  static std::atomic<bool> lost = false;
  return lost;
}

void note_pool() {
  [[maybe_unused]] static const int noted =
      pthread_atfork(nullptr, nullptr, [] { has_lost_pool() = true; });
}

}  // namespace

int largest_team() {
  const int level = omp_get_active_level();
  if (has_lost_pool() || level >= omp_get_max_active_levels()) return 1;
  const int limit = omp_get_thread_limit();
  // The regions around share the limit.
  return level > 0 && limit < std::numeric_limits<int>::max() ? 1 : limit;
}

ThreadScope::ThreadScope(int wanted) : around_(present()) {
  LUPINE_EXPECTS(wanted >= 1);
  const int threads = std::min(wanted, largest_team());
  if (threads > around_) settle(threads);
  present() = threads;
  if (threads == around_) return;
  if (threads > 1) note_pool();
  const int openmp = omp_get_max_threads();
  const int blas = blas_threads();
  const bool adjusts = omp_get_dynamic() != 0;
  if (openmp == threads && blas == threads && !adjusts) return;
  openmp_ = openmp;
  blas_ = blas;
  adjusts_ = adjusts;
  omp_set_num_threads(threads);
  set_blas_threads(threads);
  if (adjusts) omp_set_dynamic(0);
}

// An OpenBLAS that is built on OpenMP sets OpenMP's number too, so OpenMP's is put back last.
ThreadScope::~ThreadScope() {
  present() = around_;
  if (openmp_ == 0) return;
  set_blas_threads(blas_);
  omp_set_num_threads(openmp_);
  if (adjusts_) omp_set_dynamic(1);
}

}  // namespace lupine
