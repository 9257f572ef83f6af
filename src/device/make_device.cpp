// SPDX-License-Identifier: BSD-3-Clause
#include "core/forks.hpp"
#include "device/cpu/cpu_device.hpp"
#include "device/cuda/cuda_hooks.hpp"
#include "device/device.hpp"
#include "host/limited_space.hpp"
#include "host/thread_scope.hpp"

#include <algorithm>

namespace speedwell {

std::unique_ptr<Device> make_device(const DeviceOptions& options) {
  const bool cuda =
      options.kind == DeviceKind::automatic ? count_gpus() > 0 : options.kind == DeviceKind::cuda;
  if (!cuda) return std::make_unique<CpuDevice>(options.threads, options.run);
  settle(std::min(options.threads, largest_team()));  // before memory is planned, as a CpuDevice
  return make_cuda_device(options);
}

// Small systems ask for it at each call, and without a driver the answer takes longer than some.
int count_gpus() {
  static constinit MadeOnce<int> count([] { return cuda_devices().count; });
  return count.get();
}

bool in_gpu_memory(const void* data) {
  return data != nullptr && cuda_has_alone(data);
}

void release_gpus() {
  cuda_release();
}

std::string why_no_gpus() {
  return cuda_devices().why_none;
}

}  // namespace speedwell
