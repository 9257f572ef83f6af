// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// What the parts of the emulation share: the streams and their tasks, the memory, the errors.
#pragma once

#include <cuda_runtime.h>
#include <cuda_emulation.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "cublas_api.h"

namespace speedwell::emulation {

/// The kernel that a task stands for; without one, the grid is empty.
/// Bytes of dynamic shared memory that a kernel can be given, as on an H200.
constexpr std::size_t most_dynamic_shared = 227 << 10;

struct Launch {
  std::string name = {};
  dim3 grid = {0, 0, 0};
  dim3 block = {0, 0, 0};
};

/// What has been queued in a stream: it may run once it is the first there and is ready.
struct Record;
struct Task {
  std::function<void()> run = {};
  std::function<bool()> ready = {};     // for another process; empty: at once
  std::shared_ptr<Record> awaits = {};  // null: nothing
  bool message = false;                 // between processes
  Launch launch = {};
};

/// One recording of an event. The event may be recorded anew, or destroyed, while others wait for
/// this one.
struct Record {
  CUstream_st* stream;  // alive until it is done
  bool done = false;
  std::chrono::steady_clock::time_point time = {};
};

struct Allocation {
  std::size_t bytes;
  int device;  // -1: pinned host memory
};

}  // namespace speedwell::emulation

struct CUgraphNode_st {
  speedwell::emulation::Launch launch;
};
struct CUgraph_st {
  std::vector<CUgraphNode_st> nodes;
};

struct CUstream_st {
  int device;
  std::uint64_t number;
  int priority;
  std::deque<speedwell::emulation::Task> tasks;
  std::unique_ptr<CUgraph_st> capture = {};  // null: what is given to the stream runs
  int multiprocessors = 0;                   // of its green context; 0: it has none
};

struct CUevent_st {
  bool timed;
  std::shared_ptr<speedwell::emulation::Record> record;
};

namespace speedwell::emulation {

/// Which streams go first; any: no matter.
enum class Order { any, high_first, low_first };

/// What cuBLASLt's heuristic offers.
struct OfferedAlgorithm {
  double milliseconds = 0;  // that a product takes longer
  std::uint64_t most_rows = std::numeric_limits<std::uint64_t>::max();  // of the result
  bool refused = false;                                                 // when it runs
  bool in_place = false;                                                // sums parts of K so
  int blocks = 0;                                                       // 0: by the limit
};

struct Settings {
  int devices;
  Order order;
  int driver;
  int multiprocessors;
  std::size_t memory;
  std::uint64_t seed;
  std::string failing_function;
  long failing_call = 0;
  long failing_times = 0;
  cudaError_t failure;
  std::vector<OfferedAlgorithm> algorithms;
  std::string nccl;  // what is wrong with it: the word before the colon
  std::string nccl_detail;
  std::string green_contexts;  // none: the driver has none; fail: no kernel runs in one
  std::string cublas_lacks;    // a function; empty: none
};

/// How the scheduler behaves for a while.
struct Mood {
  enum class Pace { eager, lazy, varying } pace;
  bool by_rank;        // a random but fixed order among the streams, so that some starve
  std::uint64_t salt;  // of that order
  std::uint64_t calls_left;
};

/// SplitMix64 (Steele, Lea and Flood 2014), which threads are shuffled with at every barrier.
class Random {
 public:
  using result_type = std::uint64_t;
  static constexpr result_type min() { return 0; }
  static constexpr result_type max() { return std::numeric_limits<result_type>::max(); }
  void seed(std::uint64_t seed) { state_ = seed; }
  result_type operator()() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
  }

 private:
  std::uint64_t state_ = 0;
};

struct State {
  std::recursive_mutex mutex;
  Settings settings;
  Random random;
  Mood mood{};
  std::map<std::string, long> calls;
  long queries = 0;  // of events, since a task was last queued
  std::set<void (*)()> kernels;
  std::map<const void*, std::size_t> dynamic_shared;  ///< bytes that a kernel may have at most
  std::vector<std::unique_ptr<CUstream_st>> streams;
  std::uint64_t streams_made = 0;
  std::set<CUevent_st*> events;
  std::map<const unsigned char*, Allocation> allocations;  // by where they begin
  std::size_t pinned = 0;                                  // bytes
  std::size_t most_pinned = 0;
  long transfers = 0;       // of NCCL, that were given
  std::size_t handles = 0;  // of libraries
  cudaError_t last = cudaSuccess;
  cudaError_t sticky = cudaSuccess;
  std::chrono::steady_clock::time_point last_call;
};

State& state();

constexpr int greatest_priority = -5;  // of a stream; the least is 0

/// Uniform among 0 ... count - 1.
std::uint64_t draw(std::uint64_t count);

/// Every call begins here: counts it, fails it if it is the one that shall fail, and may run
/// tasks. Returns what makes the call fail before it does anything.
cudaError_t begin(const char* function);

/// Counts what a real device may wait for itself to make, where messages are under way: the peer
/// may wait for this host.
void note_if_messages_wait(const char* what);

/// Notes what a call returns.
cudaError_t finish(cudaError_t error);

/// From now on every call fails with this.
void fail_for_good(cudaError_t error, const std::string& why);

template <class Body>
cudaError_t call(const char* function, Body&& body) {
  const std::lock_guard lock(state().mutex);
  const cudaError_t error = begin(function);
  return finish(error == cudaSuccess ? body() : error);
}

/// As call(), for what gives something back: it is given back whatever has failed.
template <class Body>
cudaError_t release(const char* function, Body&& body) {
  const std::lock_guard lock(state().mutex);
  const cudaError_t error = begin(function);
  const cudaError_t own = body();
  return finish(error == cudaSuccess ? own : error);
}

template <class Body>
cublasStatus_t blas_call(const char* function, Body&& body) {
  const std::lock_guard lock(state().mutex);
  return begin(function) == cudaSuccess ? body() : CUBLAS_STATUS_EXECUTION_FAILED;
}

/// The device of this thread, and whether there is one.
cudaError_t current_device(int& device);

bool known(const CUstream_st* stream);

/// @pre known(stream)
void enqueue(CUstream_st* stream, Task task);

/// Runs one task of any stream, if one is ready; a lazy scheduler takes the wanted stream's, and
/// one with an order what goes before it or is needed for it. null: all are wanted.
bool run_one(const CUstream_st* wanted);

/// Runs a task, if one is ready, while the host is busy elsewhere: what others may wait for.
bool run_beside();

/// Runs tasks until there is nothing left in the stream; null: in any.
void complete(const CUstream_st* stream);

/// Whether these bytes are inside of one allocation of a device.
bool on_device(const void* at, std::size_t bytes);

/// The same for columns of a matrix, the last one without what is between two.
bool on_device(const void* at, std::int64_t rows, std::int64_t columns, std::int64_t ld,
               std::size_t element);

}  // namespace speedwell::emulation
