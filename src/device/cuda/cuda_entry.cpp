// SPDX-License-Identifier: BSD-3-Clause
#include <cuda_runtime.h>
#include <fmt/format.h>

#include <string>

#include "device/cuda/cuda_device.hpp"
#include "device/cuda/cuda_hooks.hpp"
#include "device/cuda/driver.hpp"

namespace speedwell {

namespace {

// "NVIDIA's driver 535.104.05 (for CUDA 12.2)", or less of it if versions are unknown.
std::string driver_here() {
  const std::string version = loaded_driver();
  std::string words = version.empty() ? "NVIDIA's driver" : "NVIDIA's driver " + version;
  int cuda = 0;
  if (cudaDriverGetVersion(&cuda) == cudaSuccess && cuda > 0)
    words += fmt::format(" (for {})", cuda_version(cuda));
  return words;
}

std::string why_driver_is_insufficient() {
  int cuda = 0;
  if (cudaDriverGetVersion(&cuda) != cudaSuccess || cuda > 0)
    return fmt::format("{} is too old; {}", driver_here(), driver_needed(CUDART_VERSION));
  if (loaded_driver().empty())
    return fmt::format("no NVIDIA driver is here; {}", driver_needed(CUDART_VERSION));
  return fmt::format(
      "{} is loaded, but its library libcuda.so.1 is not here, as in a container that was started "
      "without GPUs",
      driver_here());
}

std::string why_no_gpu(cudaError_t error) {
  switch (error) {
    case cudaErrorNoDevice:
      return "there is no GPU, or CUDA_VISIBLE_DEVICES hides it";
    case cudaErrorInsufficientDriver:
      return why_driver_is_insufficient();
    case cudaErrorStubLibrary:
      return fmt::format("libcuda.so.1 is a stub without a driver in it; {}",
                         driver_needed(CUDART_VERSION));
    case cudaErrorSystemNotReady:
      return fmt::format(
          "the GPUs are not ready ({}): with NVSwitch they wait for nvidia-fabricmanager to run",
          driver_here());
    case cudaErrorSystemDriverMismatch:
      return fmt::format(
          "{} is loaded and libcuda.so.1 is of another version: restart the machine after an "
          "update",
          driver_here());
    case cudaErrorCompatNotSupportedOnDevice:
      return fmt::format("{} is too old, and CUDA's compatibility package is not for this GPU; {}",
                         driver_here(), driver_needed(CUDART_VERSION));
    default:
      return fmt::format("no GPU can be used: {}, {}; {}", cudaGetErrorName(error),
                         cudaGetErrorString(error), driver_here());
  }
}

// Whether a GPU can run the kernels. If none can, the machine counts as one without GPUs, so that a
// run for which the user did not choose the device runs on the CPU.
bool some_gpu_is_new_enough(int count) {
  for (int gpu = 0; gpu < count; ++gpu) {
    int major = 0;
    if (cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, gpu) != cudaSuccess ||
        major >= least_capability)
      return true;
  }
  return false;
}

}  // namespace

CudaDevices gpus_here() {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error != cudaSuccess || count == 0)
    return {0, why_no_gpu(error == cudaSuccess ? cudaErrorNoDevice : error)};
  if (!some_gpu_is_new_enough(count))
    return {0, fmt::format("no GPU here has compute capability {}.0 or later", least_capability)};
  return {count, ""};
}

namespace {
std::unique_ptr<Device> make(const DeviceOptions& options) {
  return std::make_unique<CudaDevice>(options);
}
}  // namespace

extern "C" const CudaEntry* speedwell_cuda_entry() {
  static const CudaEntry entry{SPEEDWELL_LIBRARY_VERSION, &gpus_here, &make, &gpu_has_alone,
                               [] { release_kept_resources(); }};
  return &entry;
}

}  // namespace speedwell
