// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Access to the CUDA device, which is in a library of its own. So Speedwell's programs start on a
/// machine without CUDA too, and can say there what is missing.
///
/// One of three sources implements cuda_devices() and the functions behind it:
/// cuda_stub.cpp (CUDA was not built), cuda_loader.cpp (loads the library at the first call), or
/// cuda_linked.cpp (the device is linked into the program).
#pragma once

#include <memory>
#include <string>

#include "device/device.hpp"

namespace speedwell {

/// The GPUs that this process sees.
struct CudaDevices {
  int count = 0;
  std::string why_none;  ///< if count is 0, the reason in words
};

/// The GPUs that this process sees. Where there is none, it returns the reason and does not throw.
CudaDevices cuda_devices();

/// Makes the device for GPU options.gpu. @throws UsageError if CUDA was not built in or cannot be
///         loaded, or if no GPU has this ordinal; Fault if the GPU fails
std::unique_ptr<Device> make_cuda_device(const DeviceOptions& options);

/// Whether this is memory of a GPU that the host cannot read. The library is loaded for the answer
/// only if this process has loaded NVIDIA's driver; otherwise the answer is false.
bool cuda_has_alone(const void* data);

/// As release_gpus(). Loads no library.
void cuda_release();

/// The functions of the library with the CUDA device.
struct CudaEntry {
  const char* version;  ///< version of Speedwell, which must be the program's
  CudaDevices (*devices)();
  std::unique_ptr<Device> (*make)(const DeviceOptions&);
  bool (*has_alone)(const void*);
  void (*release)();
};
/// The only function that is looked up in the library by name.
extern "C" __attribute__((visibility("default"))) const CudaEntry* speedwell_cuda_entry();

}  // namespace speedwell
