#include "device/cuda/check.hpp"

#include <fmt/format.h>
#include <lupine/error.hpp>

#include <string>
#include <string_view>

namespace lupine {

namespace {

thread_local int gpu_in_use = -1;

[[noreturn]] void fail(const std::string& error, const char* call,
                       const std::source_location& where) {
  const std::string_view file = where.file_name();
  throw Fault(fmt::format("{} failed on GPU {}: {} ({}:{})", call, gpu_in_use, error,
                          file.substr(file.find_last_of('/') + 1), where.line()));
}

}  // namespace

void use_gpu(int gpu) {
  gpu_in_use = gpu;
  check(cudaSetDevice(gpu), "cudaSetDevice");
}

void check(cudaError_t error, const char* call, const std::source_location& where) {
  if (error != cudaSuccess)
    fail(fmt::format("{}, {}", cudaGetErrorName(error), cudaGetErrorString(error)), call, where);
}

void check(cublasStatus_t status, const char* call, const std::source_location& where) {
  if (status != CUBLAS_STATUS_SUCCESS) fail(cublasGetStatusString(status), call, where);
}

void check(const char* error, const char* call, const std::source_location& where) {
  if (error != nullptr) fail(error, call, where);
}

}  // namespace lupine
