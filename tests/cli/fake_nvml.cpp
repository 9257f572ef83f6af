// SPDX-License-Identifier: BSD-3-Clause
// Imitates the functions of NVML, NVIDIA's management library, that Speedwell calls, for two GPUs
// that do not exist; the first has the UUID of the first emulated one.
// SPEEDWELL_FAKE_NVML_POWER=300000 in the environment is another power in mW, and
// SPEEDWELL_FAKE_NVML_POWER="error 3" is a driver that returns 3; so for each of the names below.
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

/// The objects to which handles of GPUs point. They are never written.
constexpr int gpus[2] = {0, 1};

bool is_first(const void* gpu) {
  return gpu == &gpus[0];
}

/// Sets the number, and returns the status, that the environment has for this name.
template <class Number>
int give(const char* name, Number* number, Number usual) {
  const char* text = std::getenv((std::string("SPEEDWELL_FAKE_NVML_") + name).c_str());
  if (text != nullptr && std::strncmp(text, "error ", 6) == 0) return std::atoi(text + 6);
  *number = text != nullptr ? static_cast<Number>(std::strtoull(text, nullptr, 0)) : usual;
  return 0;
}

constexpr int sm = 1;

}  // namespace

extern "C" {

int nvmlInit_v2() {
  int nothing = 0;
  return give("INIT", &nothing, 0);
}
const char* nvmlErrorString(int) {
  return "an error of the imitation";
}
int nvmlSystemGetDriverVersion(char* version, unsigned length) {
  std::strncpy(version, "570.00", length);
  return 0;
}
int nvmlDeviceGetCount_v2(unsigned* count) {
  return give("COUNT", count, 2U);
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** gpu) {
  *gpu = const_cast<int*>(&gpus[index]);
  return 0;
}
int nvmlDeviceGetHandleByPciBusId_v2(const char* id, void** gpu) {
  if (std::strcmp(id, "0000:65:00.0") != 0) return 6;
  *gpu = const_cast<int*>(&gpus[1]);
  return 0;
}
int nvmlDeviceGetUUID(void* gpu, char* uuid, unsigned length) {
  std::strncpy(uuid,
               is_first(gpu) ? "GPU-656d756c-6174-6564-0000-000000000000"
                             : "GPU-01234567-89ab-cdef-0123-456789abcdef",
               length);
  return 0;
}
int nvmlDeviceGetClockInfo(void* gpu, int kind, unsigned* megahertz) {
  return give("CLOCK", megahertz, !is_first(gpu) && kind == sm ? 1234U : 1U);
}
int nvmlDeviceGetPowerUsage(void*, unsigned* milliwatts) {
  return give("POWER", milliwatts, 650500U);
}
int nvmlDeviceGetEnforcedPowerLimit(void*, unsigned* milliwatts) {
  return give("POWER_LIMIT", milliwatts, 700000U);
}
// SPEEDWELL_FAKE_NVML_WATTS=500 makes the counter run.
int nvmlDeviceGetTotalEnergyConsumption(void*, unsigned long long* millijoules) {
  if (const char* watts = std::getenv("SPEEDWELL_FAKE_NVML_WATTS")) {
    const std::chrono::duration<double, std::milli> now =
        std::chrono::steady_clock::now().time_since_epoch();
    *millijoules = static_cast<unsigned long long>(std::atof(watts) * now.count());
    return 0;
  }
  return give("ENERGY", millijoules, 5000000000000ULL);  // more than 32 bits hold
}
int nvmlDeviceGetTemperature(void*, int, unsigned* celsius) {
  return give("TEMPERATURE", celsius, 61U);
}
int nvmlDeviceGetUtilizationRates(void*, unsigned* gpu_and_memory) {
  gpu_and_memory[1] = 40;
  return give("UTILIZATION", gpu_and_memory, 97U);
}
int nvmlDeviceGetCurrentClocksThrottleReasons(void*, unsigned long long* reasons) {
  return give("THROTTLE", reasons, 0x24ULL);
}
int nvmlDeviceGetCurrPcieLinkGeneration(void*, unsigned* generation) {
  return give("PCIE_GENERATION", generation, 4U);
}
int nvmlDeviceGetCurrPcieLinkWidth(void*, unsigned* width) {
  return give("PCIE_WIDTH", width, 8U);
}
int nvmlDeviceGetMaxPcieLinkGeneration(void*, unsigned* generation) {
  *generation = 5;
  return 0;
}
int nvmlDeviceGetMaxPcieLinkWidth(void*, unsigned* width) {
  *width = 16;
  return 0;
}
int nvmlDeviceGetPcieReplayCounter(void*, unsigned* count) {
  return give("PCIE_REPLAYS", count, 3U);
}
// Four links, the last of which is down.
int nvmlDeviceGetNvLinkState(void*, unsigned link, int* is_up) {
  return link < 4 ? give("NVLINK", is_up, link < 3 ? 1 : 0) : 2;
}
int nvmlDeviceGetNvLinkErrorCounter(void*, unsigned link, int kind, unsigned long long* count) {
  return give("NVLINK_ERRORS", count, 10ULL * static_cast<unsigned>(kind) + link);
}
int nvmlDeviceGetTotalEccErrors(void*, int kind, int, unsigned long long* count) {
  return give("ECC", count, kind == 0 ? 7ULL : 1ULL);
}
int nvmlDeviceGetRemappedRows(void*, unsigned* corrected, unsigned* uncorrected, unsigned* pending,
                              unsigned* failed) {
  *uncorrected = 2;
  *pending = 1;
  *failed = 0;
  return give("REMAPPED", corrected, 4U);
}
}
