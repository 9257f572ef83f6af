// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>
#include <speedwell/error.hpp>

#include "device/cuda/cuda_hooks.hpp"
#include "device/cuda/driver.hpp"

namespace speedwell {

CudaDevices cuda_devices() {
  const std::string driver = loaded_driver();
  return {0, driver.empty() ? "not built with CUDA"
                            : "not built with CUDA, though NVIDIA's driver " + driver + " is here"};
}

bool cuda_has_alone(const void*) {
  return false;
}

void cuda_release() {}

std::unique_ptr<Device> make_cuda_device(const DeviceOptions&) {
  throw UsageError(
      fmt::format("--device cuda is not allowed: {}; allowed: cpu", cuda_devices().why_none));
}

}  // namespace speedwell
