// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Streams and arrays of the emulated GPU.
#pragma once

#include <cuda_runtime.h>
#include <cuda_emulation.hpp>

#include <cstddef>
#include <cstdlib>
#include <string>
#include <vector>

#include "catch.hpp"

namespace speedwell::emulation {

/// What the environment says while this lives.
class Environment {
 public:
  Environment(const char* name, const std::string& value) : name_(name) {
    setenv(name, value.c_str(), 1);
    restart();
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;
  ~Environment() {
    unsetenv(name_);
    restart();
  }

 private:
  const char* name_;
};

struct Stream {
  Stream() { REQUIRE(cudaStreamCreateWithPriority(&id, cudaStreamNonBlocking, 0) == cudaSuccess); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() { cudaStreamDestroy(id); }
  void wait() const { REQUIRE(cudaStreamSynchronize(id) == cudaSuccess); }
  cudaStream_t id = nullptr;
};

template <class T>
struct Array {
  explicit Array(std::size_t count_) : count(count_) {
    REQUIRE(cudaMalloc(&data, count * sizeof(T)) == cudaSuccess);
  }
  Array(const std::vector<T>& values, const Stream& stream) : Array(values.size()) {
    REQUIRE(cudaMemcpyAsync(data, values.data(), count * sizeof(T), cudaMemcpyHostToDevice,
                            stream.id) == cudaSuccess);
  }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;
  ~Array() { cudaFree(data); }
  std::vector<T> read(const Stream& stream) const {
    std::vector<T> values(count);
    REQUIRE(cudaMemcpyAsync(values.data(), data, count * sizeof(T), cudaMemcpyDeviceToHost,
                            stream.id) == cudaSuccess);
    return values;
  }
  std::size_t count;
  T* data = nullptr;
};

template <class... Expected, class... Actual>
cudaError_t start(const Stream& stream, dim3 grid, dim3 block, void (*kernel)(Expected...),
                  Actual... actual) {
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = block;
  config.stream = stream.id;
  return cudaLaunchKernelEx(&config, kernel, actual...);
}

__global__ inline void add_one(float* x, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) x[i] += 1;
}

}  // namespace speedwell::emulation
