// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The emulation finds the mistakes that it is there for, in launches, streams, memory and events.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <cstdint>
#include <string>
#include <vector>

#include "bench.hpp"

using namespace speedwell::emulation;

namespace {

/// How the body ends in a process of its own: 0 if all was well there.
template <class Body>
int elsewhere(Body body) {
  const pid_t child = fork();
  if (child == 0) {
    dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);
    signal(SIGABRT, SIG_DFL);
    _exit(body());
  }
  int status = -1;
  waitpid(child, &status, 0);
  return status;
}

/// Reverses groups of last + 1 numbers.
template <unsigned last, bool with_barrier>
__global__ void reverse(const int* from, int* to) {
  __shared__ int tile[256];
  const unsigned i = threadIdx.x;
  tile[i] = from[blockIdx.x * blockDim.x + i];
  if (!with_barrier)
    __shfl_sync(~0u, 0, static_cast<int>(i % 32));  // orders no memory
  else if (last < 32)
    __syncwarp();
  else
    __syncthreads();
  to[blockIdx.x * blockDim.x + i] = tile[i ^ last];
}

__global__ void sum(const double* x, int n, double* result, unsigned* largest_thread) {
  __shared__ double parts[32];
  const unsigned thread = threadIdx.x + threadIdx.y * blockDim.x;
  const unsigned threads = blockDim.x * blockDim.y;
  double own = 0;
  for (int i = static_cast<int>(blockIdx.x * threads + thread); i < n;
       i += static_cast<int>(gridDim.x * threads)) {
    own += x[i];
  }
  for (int step = warpSize / 2; step > 0; step /= 2) own += __shfl_down_sync(~0u, own, step);
  if (thread % 32 == 0) parts[thread / 32] = own;
  __syncthreads();
  if (thread < 32) {
    double all = thread < threads / 32 ? parts[thread] : 0;
    for (int step = 16; step > 0; step /= 2) all += __shfl_xor_sync(~0u, all, step);
    if (__shfl_sync(~0u, thread, 5) != 5) all = -1;
    if (thread == 0) atomicAdd(result, all);
  }
  atomicMax(largest_thread, thread);
}

__global__ void write_at(float* x, std::ptrdiff_t i) {
  x[i] = 1;
}

/// The last lane, which waits for none, comes alone to a shuffle.
__global__ void shuffle_for_one() {
  if (threadIdx.x == 31) __shfl_down_sync(~0u, 1, 1);
  __syncthreads();
}

__global__ void barrier_for_some(int n) {
  if (static_cast<int>(threadIdx.x) < n) __syncthreads();
}

/// Copies n numbers in one stream and adds one in another; how many came out wrong.
int wrong_after_copy(bool with_event, int seed) {
  const Environment environment("SPEEDWELL_EMULATION_SEED", std::to_string(seed));
  const int n = 100;
  const Stream copies;
  const Stream kernels;
  const Array<float> x(n);
  float* host = nullptr;
  REQUIRE(cudaMallocHost(&host, n * sizeof(float)) == cudaSuccess);
  for (int i = 0; i < n; ++i) host[i] = static_cast<float>(i);
  cudaEvent_t copied = nullptr;
  REQUIRE(cudaEventCreateWithFlags(&copied, cudaEventDisableTiming) == cudaSuccess);
  REQUIRE(cudaMemcpyAsync(x.data, host, n * sizeof(float), cudaMemcpyHostToDevice, copies.id) == 0);
  REQUIRE(cudaEventRecord(copied, copies.id) == cudaSuccess);
  if (with_event) REQUIRE(cudaStreamWaitEvent(kernels.id, copied, 0) == cudaSuccess);
  REQUIRE(start(kernels, 2, 64, add_one, x.data, n) == cudaSuccess);
  kernels.wait();
  copies.wait();
  const auto result = x.read(kernels);
  int wrong = 0;
  for (int i = 0; i < n; ++i) wrong += result[i] == static_cast<float>(i + 1) ? 0 : 1;
  REQUIRE(cudaEventDestroy(copied) == cudaSuccess);
  REQUIRE(cudaFreeHost(host) == cudaSuccess);
  return wrong;
}

template <unsigned last, bool with_barrier>
int wrong_after_reverse(int seed) {
  const Environment environment("SPEEDWELL_EMULATION_SEED", std::to_string(seed));
  const int n = 1024;
  const Stream stream;
  std::vector<int> values(n);
  for (int i = 0; i < n; ++i) values[i] = i * i;
  const Array<int> from(values, stream);
  const Array<int> to(n);
  REQUIRE(start(stream, n / 256, 256, reverse<last, with_barrier>, from.data, to.data) ==
          cudaSuccess);
  const auto result = to.read(stream);
  int wrong = 0;
  for (int i = 0; i < n; ++i) wrong += result[i] == values[i ^ last] ? 0 : 1;
  return wrong;
}

}  // namespace

TEST_CASE("a missing event gives wrong results", "[emulation]") {
  int wrong = 0;
  for (int seed = 0; seed < 20; ++seed) {
    CHECK(wrong_after_copy(true, seed) == 0);
    wrong += wrong_after_copy(false, seed) > 0 ? 1 : 0;
  }
  CHECK(wrong > 3);
  CHECK(live_objects() == 0);
}

TEST_CASE("a missing barrier gives wrong results, one for some threads fails", "[emulation]") {
  int wrong = 0;
  for (int seed = 0; seed < 5; ++seed) {
    CHECK(wrong_after_reverse<255, true>(seed) + wrong_after_reverse<31, true>(seed) == 0);
    wrong += wrong_after_reverse<255, false>(seed) > 0 ? 1 : 0;
    wrong += wrong_after_reverse<31, false>(seed) > 0 ? 1 : 0;
  }
  CHECK(wrong == 10);
  CHECK(elsewhere([] {
          const Stream stream;
          if (start(stream, 3, 64, barrier_for_some, 64) != cudaSuccess) return 1;
          if (cudaStreamSynchronize(stream.id) != cudaSuccess) return 2;
          if (start(stream, 1, 64, barrier_for_some, 63) != cudaSuccess) return 3;
          if (cudaStreamSynchronize(stream.id) != cudaErrorLaunchFailure) return 4;
          return cudaGetLastError() == cudaErrorLaunchFailure ? 0 : 5;
        }) == 0);
  CHECK(elsewhere([] {
          const Stream stream;
          start(stream, 1, 32, shuffle_for_one);
          return cudaStreamSynchronize(stream.id) == cudaErrorLaunchFailure ? 0 : 1;
        }) == 0);
}

TEST_CASE("kernels with barriers, shuffles and atomics", "[emulation]") {
  const int n = 5000;
  const Stream stream;
  std::vector<double> values(n);
  for (int i = 0; i < n; ++i) values[i] = i + 0.5;
  const Array<double> x(values, stream);
  const Array<double> result(std::vector<double>{0}, stream);
  const Array<unsigned> largest(std::vector<unsigned>{0}, stream);
  REQUIRE(start(stream, 7, dim3(32, 4), sum, x.data, n, result.data, largest.data) == cudaSuccess);
  CHECK(result.read(stream)[0] == n * n / 2.0);
  CHECK(largest.read(stream)[0] == 127);
}

TEST_CASE("launches have limits", "[emulation]") {
  const Stream stream;
  CHECK(start(stream, 0, 32, barrier_for_some, 0) == cudaErrorInvalidConfiguration);
  CHECK(start(stream, 1, 1025, barrier_for_some, 0) == cudaErrorInvalidConfiguration);
  CHECK(start(stream, dim3(1, 65536), 1, barrier_for_some, 0) == cudaErrorInvalidConfiguration);
  CHECK(start(stream, dim3(2, 65535), 1, barrier_for_some, 0) == cudaSuccess);
  CHECK(cudaGetLastError() == cudaErrorInvalidConfiguration);
  CHECK(cudaGetLastError() == cudaSuccess);
}

TEST_CASE("writes outside of an allocation are noticed", "[emulation]") {
  for (const std::ptrdiff_t at : {-1, 100, 1000}) {
    const auto write = [at](auto then) {
      const Stream stream;
      float* x = nullptr;
      cudaMalloc(&x, 100 * sizeof(float));
      start(stream, 1, 1, write_at, x, at);
      cudaStreamSynchronize(stream.id);
      return then(x);
    };
    CHECK(elsewhere(
        [&] { return write([](float*) { return damaged_allocations() == 1 ? 1 : 0; }); }));
    CHECK(elsewhere([&] { return write([](float* x) { return static_cast<int>(cudaFree(x)); }); }));
  }
  const Stream stream;
  const Array<float> x(100);
  REQUIRE(start(stream, 1, 1, write_at, x.data, 99) == cudaSuccess);
  stream.wait();
  CHECK(damaged_allocations() == 0);
}

TEST_CASE("memory is limited, not initialized and aligned to 256 bytes only", "[emulation]") {
  const Environment environment("SPEEDWELL_EMULATED_MEMORY", "10000");
  const Stream stream;
  const Array<float> x(2000);
  std::size_t free = 0;
  std::size_t total = 0;
  float* more = nullptr;
  REQUIRE(cudaMemGetInfo(&free, &total) == cudaSuccess);
  CHECK(free == 2000);
  CHECK(total == 10000);
  CHECK(cudaMalloc(&more, 2001) == cudaErrorMemoryAllocation);
  CHECK(cudaGetLastError() == cudaErrorMemoryAllocation);
  CHECK(cudaMalloc(&more, std::size_t{1} << 50) == cudaErrorMemoryAllocation);
  CHECK(cudaMalloc(&more, ~std::size_t{0}) == cudaErrorInvalidValue);
  CHECK(cudaFree(more) == cudaSuccess);
  CHECK(std::isnan(x.read(stream)[1999]));
  CHECK(reinterpret_cast<std::uintptr_t>(x.data) % 512 == 256);
}

TEST_CASE("copies are checked, and deferred where memory is pinned", "[emulation]") {
  const Stream stream;
  const Array<float> x(60);
  std::vector<float> host(60, 1.0f);
  const auto copy = [&](std::size_t bytes, cudaMemcpyKind kind) {
    return cudaMemcpyAsync(x.data, host.data(), bytes, kind, stream.id);
  };
  CHECK(copy(241, cudaMemcpyHostToDevice) == cudaErrorInvalidValue);
  CHECK(copy(240, cudaMemcpyDeviceToDevice) == cudaErrorInvalidValue);
  CHECK(copy(240, cudaMemcpyDeviceToHost) == cudaErrorInvalidValue);
  CHECK(copy(static_cast<std::size_t>(-4), cudaMemcpyHostToDevice) == cudaErrorInvalidValue);
  CHECK(cudaMemcpyAsync(x.data, host.data(), 4, cudaMemcpyHostToDevice, nullptr) ==
        cudaErrorInvalidResourceHandle);
  CHECK(copy(240, cudaMemcpyHostToDevice) == cudaSuccess);
  host.assign(60, 2.0f);  // has been read
  // Column 1 and 2 of a 10 x 6 matrix, rows 3 ... 5.
  CHECK(cudaMemcpy2DAsync(x.data + 13, 40, host.data(), 12, 12, 2, cudaMemcpyDefault, stream.id) ==
        cudaSuccess);
  CHECK(cudaMemsetAsync(x.data + 53, 0, 28, stream.id) == cudaSuccess);
  CHECK(cudaMemsetAsync(x.data + 53, 0, 29, stream.id) == cudaErrorInvalidValue);
  CHECK(cudaMemcpy2DAsync(x.data, 40, host.data(), 12, 13, 2, cudaMemcpyDefault, stream.id) ==
        cudaErrorInvalidValue);
  const auto result = x.read(stream);
  for (int i = 0; i < 60; ++i) {
    const bool inside = i % 10 >= 3 && i % 10 <= 5 && (i / 10 == 1 || i / 10 == 2);
    CHECK(result[i] == (i >= 53 ? 0.0f : inside ? 2.0f : 1.0f));
  }
  int early = 0;
  int* flag = nullptr;
  REQUIRE(cudaMallocHost(&flag, sizeof(int)) == cudaSuccess);
  for (int i = 0; i < 30; ++i) {
    *flag = -1;
    REQUIRE(cudaMemcpyAsync(flag, x.data, 4, cudaMemcpyDeviceToHost, stream.id) == cudaSuccess);
    early += *flag == -1 ? 1 : 0;
    stream.wait();
    REQUIRE(*flag != -1);
  }
  CHECK(early == 30);
  CHECK(cudaFreeHost(flag) == cudaSuccess);
}

TEST_CASE("events tell the time and whether they are done", "[emulation]") {
  const Stream stream;
  cudaEvent_t events[2];
  for (auto& event : events) {
    REQUIRE(cudaEventCreateWithFlags(&event, cudaEventDefault) == cudaSuccess);
    REQUIRE(cudaEventRecord(event, stream.id) == cudaSuccess);
  }
  while (cudaEventQuery(events[1]) == cudaErrorNotReady) {
  }
  float elapsed = -1;
  CHECK(cudaEventElapsedTime(&elapsed, events[0], events[1]) == cudaSuccess);
  CHECK(elapsed >= 0);
  for (auto& event : events) CHECK(cudaEventDestroy(event) == cudaSuccess);
  CHECK(cudaEventSynchronize(events[0]) == cudaErrorInvalidResourceHandle);
}

TEST_CASE("errors can be asked for, and there may be no device", "[emulation]") {
  {
    const Environment environment("SPEEDWELL_EMULATED_FAILURE", "cudaMemsetAsync:2");
    const Stream stream;
    const Array<float> x(10);
    CHECK(cudaMemsetAsync(x.data, 0, 40, stream.id) == cudaSuccess);
    CHECK(cudaMemsetAsync(x.data, 0, 40, stream.id) == cudaErrorLaunchFailure);
    CHECK(cudaStreamSynchronize(stream.id) == cudaErrorLaunchFailure);
    CHECK(cudaGetLastError() == cudaErrorLaunchFailure);
    CHECK(cudaGetLastError() == cudaErrorLaunchFailure);
  }
  {
    const Environment environment("SPEEDWELL_EMULATED_FAILURE", "cudaMalloc:1:2");
    float* x = nullptr;
    CHECK(cudaMalloc(&x, 40) == cudaErrorMemoryAllocation);
    CHECK(cudaMalloc(&x, 40) == cudaSuccess);
    CHECK(cudaFree(x) == cudaSuccess);
  }
  const Environment environment("SPEEDWELL_EMULATED_GPUS", "0");
  int count = -1;
  CHECK(cudaGetDeviceCount(&count) == cudaErrorNoDevice);
  CHECK(count == 0);
  CHECK(live_objects() == 0);
}
