#include <cuda_runtime.h>
#include <fmt/format.h>

#include "device/cuda/cuda_device.hpp"
#include "device/cuda/cuda_hooks.hpp"

namespace lupine {

CudaDevices gpus_here() {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error == cudaSuccess && count > 0) return {count, ""};
  if (error == cudaSuccess || error == cudaErrorNoDevice) return {0, "there is no GPU"};
  return {0, fmt::format("no GPU can be used: {}", cudaGetErrorString(error))};
}

namespace {
std::unique_ptr<Device> make(const DeviceOptions& options) {
  return std::make_unique<CudaDevice>(options);
}
}  // namespace

extern "C" const CudaEntry* lupine_cuda_entry() {
  static const CudaEntry entry{LUPINE_LIBRARY_VERSION, &gpus_here, &make};
  return &entry;
}

}  // namespace lupine
