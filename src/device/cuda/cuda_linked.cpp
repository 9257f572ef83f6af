// SPDX-License-Identifier: BSD-3-Clause
#include "device/cuda/cuda_hooks.hpp"

namespace speedwell {

CudaDevices cuda_devices() {
  return speedwell_cuda_entry()->devices();
}

std::unique_ptr<Device> make_cuda_device(const DeviceOptions& options) {
  return speedwell_cuda_entry()->make(options);
}

bool cuda_has_alone(const void* data) {
  return speedwell_cuda_entry()->has_alone(data);
}

void cuda_release() {
  speedwell_cuda_entry()->release();
}

}  // namespace speedwell
