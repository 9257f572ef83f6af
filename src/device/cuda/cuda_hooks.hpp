/// @file
/// The door to the CUDA device. cuda_stub.cpp stands behind it where CUDA was not built in.
#pragma once

#include <memory>
#include <string>

#include "device/device.hpp"

namespace lupine {

struct CudaDevices {
  int count = 0;
  std::string why_none;  ///< in words, if count is 0
};

/// What this process sees. Never throws.
CudaDevices cuda_devices();

/// @throws UsageError where CUDA was not built in, or no GPU has this ordinal; Fault
std::unique_ptr<Device> make_cuda_device(const DeviceOptions& options);

}  // namespace lupine
