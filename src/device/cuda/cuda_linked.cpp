// SPDX-License-Identifier: BSD-3-Clause
#include "device/cuda/cuda_hooks.hpp"

namespace lupine {

CudaDevices cuda_devices() {
  return lupine_cuda_entry()->devices();
}

std::unique_ptr<Device> make_cuda_device(const DeviceOptions& options) {
  return lupine_cuda_entry()->make(options);
}

bool cuda_has_alone(const void* data) {
  return lupine_cuda_entry()->has_alone(data);
}

}  // namespace lupine
