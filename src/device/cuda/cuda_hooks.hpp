// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The door to the CUDA device, which stands in a library of its own: a program of Lupine's starts
/// on a machine without CUDA, and finds out there what is missing.
///
/// Behind it stands one of: cuda_stub.cpp (not built), cuda_loader.cpp (loads the library when it
/// is first asked), cuda_linked.cpp (linked into the program).
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

/// What the library offers.
struct CudaEntry {
  const char* version;  ///< Lupine's; of no use to another
  CudaDevices (*devices)();
  std::unique_ptr<Device> (*make)(const DeviceOptions&);
};
extern "C" __attribute__((visibility("default"))) const CudaEntry* lupine_cuda_entry();

}  // namespace lupine
