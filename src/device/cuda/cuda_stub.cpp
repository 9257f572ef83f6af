#include <lupine/error.hpp>

#include "device/cuda/cuda_hooks.hpp"

namespace lupine {

CudaDevices cuda_devices() {
  return {0, "not built with CUDA"};
}

std::unique_ptr<Device> make_cuda_device(const DeviceOptions&) {
  throw UsageError("--device cuda is not allowed: not built with CUDA; allowed: cpu");
}

}  // namespace lupine
