// SPDX-License-Identifier: BSD-3-Clause
#include "device/cuda/check.hpp"

#include <fmt/format.h>
#include <speedwell/error.hpp>

#include <string>
#include <string_view>

namespace speedwell {

namespace {

thread_local int selected = -1;  // NOLINT(*-non-const-global-variables)

[[noreturn]] void fail(const std::string& error, const char* call, const char* file, int line) {
  const std::string_view path = file;
  throw Fault(fmt::format("{} failed on GPU {}: {} ({}:{})", call, selected, error,
                          path.substr(path.find_last_of('/') + 1), line));
}

}  // namespace

int gpu_in_use() {
  return selected;
}

void use_gpu(int gpu) {
  selected = gpu;
  check(cudaSetDevice(gpu), "cudaSetDevice");
}

void check(cudaError_t error, const char* call, const char* file, int line) {
  if (error != cudaSuccess)
    fail(fmt::format("{}, {}", cudaGetErrorName(error), cudaGetErrorString(error)), call, file,
         line);
}

void check(cublasStatus_t status, const char* call, const char* file, int line) {
  if (status != CUBLAS_STATUS_SUCCESS) fail(cublasGetStatusString(status), call, file, line);
}

void check(const char* error, const char* call, const char* file, int line) {
  if (error != nullptr) fail(error, call, file, line);
}

}  // namespace speedwell
