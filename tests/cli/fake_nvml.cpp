// SPDX-License-Identifier: BSD-3-Clause
// Imitates the functions of NVML, NVIDIA's management library, that gpu-check calls, for two GPUs
// that do not exist.
#include <cstring>

namespace {

/// The objects to which handles of GPUs point. They are never written.
constexpr int gpus[2] = {0, 1};

bool is_first(const void* gpu) {
  return gpu == &gpus[0];
}

}  // namespace

extern "C" {

int nvmlInit_v2() {
  return 0;
}
int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = 2;
  return 0;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** gpu) {
  *gpu = const_cast<int*>(&gpus[index]);
  return 0;
}
int nvmlDeviceGetUUID(void* gpu, char* uuid, unsigned length) {
  std::strncpy(uuid,
               is_first(gpu) ? "GPU-ffffffff-0000-0000-0000-000000000000"
                             : "GPU-01234567-89ab-cdef-0123-456789abcdef",
               length);
  return 0;
}
int nvmlDeviceGetClockInfo(void* gpu, int kind, unsigned* megahertz) {
  constexpr int sm = 1;
  *megahertz = !is_first(gpu) && kind == sm ? 1234 : 1;
  return 0;
}
int nvmlDeviceGetPowerUsage(void*, unsigned* milliwatts) {
  *milliwatts = 650500;
  return 0;
}
int nvmlDeviceGetTemperature(void*, int, unsigned* celsius) {
  *celsius = 61;
  return 0;
}
int nvmlDeviceGetCurrentClocksThrottleReasons(void*, unsigned long long* reasons) {
  *reasons = 0x24;
  return 0;
}
}
