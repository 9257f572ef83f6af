// SPDX-License-Identifier: BSD-3-Clause
#include "host/thread_scope.hpp"

#include <omp.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <utility>

#include "core/expects.hpp"
#include "host/blas_kernels.hpp"
#include "host/blas_library.hpp"
#include "host/core_waits.hpp"
#include "host/limited_space.hpp"

namespace speedwell {

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

// The control bits of a thread of a team before a scope set them. OpenMP ends threads that no team
// needs, and they take it with them.
FloatingPoint::Bits& bits_before() {
  thread_local FloatingPoint::Bits bits = FloatingPoint::usual;
  return bits;
}

// Sets the control bits of a team's threads, which they may have from a thread that had others when
// it made them. The calling thread has the right ones. Returns whether one had not.
bool set_team(int threads) {
  std::atomic<bool> changed = false;
#pragma omp parallel num_threads(threads)
  if (const FloatingPoint::Bits bits = FloatingPoint::get(); bits != FloatingPoint::usual) {
    bits_before() = bits;
    FloatingPoint::set(FloatingPoint::usual);
    changed.store(true, std::memory_order_relaxed);
  }
  return changed;
}

void put_back_team(int threads) {
#pragma omp parallel num_threads(threads)
  if (const FloatingPoint::Bits bits = std::exchange(bits_before(), FloatingPoint::usual);
      bits != FloatingPoint::usual)
    FloatingPoint::set(bits);
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
  SPEEDWELL_EXPECTS(wanted >= 1);
  if (around_ == 0) settle_blas_kernels();  // before OpenMP's threads run
  const int threads = std::min(wanted, largest_team());
  if (threads > around_) settle(threads);
  present() = threads;
  if (threads > 1) {
    note_pool();
    look_at_core_waits(threads);
  }
  if (threads == around_) return;
  const int openmp = omp_get_max_threads();
  const int blas = blas_threads();
  const bool adjusts = omp_get_dynamic() != 0;
  if (openmp != threads || blas != threads || adjusts) {
    openmp_ = openmp;
    blas_ = blas;
    adjusts_ = adjusts;
    omp_set_num_threads(threads);
    set_blas_threads(threads);
    if (adjusts) omp_set_dynamic(0);
  }
  if (threads > 1 && set_team(threads)) changed_team_ = threads;
}

// An OpenBLAS that is built on OpenMP sets OpenMP's number too, so OpenMP's is put back last.
ThreadScope::~ThreadScope() {
  present() = around_;
  // A child of fork() that began in this scope has no team.
  if (changed_team_ > 0) put_back_team(std::min(changed_team_, largest_team()));
  if (openmp_ == 0) return;
  set_blas_threads(blas_);
  omp_set_num_threads(openmp_);
  if (adjusts_) omp_set_dynamic(1);
}

}  // namespace speedwell
