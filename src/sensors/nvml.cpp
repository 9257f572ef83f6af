// SPDX-License-Identifier: BSD-3-Clause
#include "sensors/nvml.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace speedwell {

namespace {

/// The function of NVML with this name; null where the driver has none.
template <class Function>
Function find(void* library, const char* name) {
  return reinterpret_cast<Function>(dlsym(library, name));
}

std::string error_words(void* library, int error) {
  switch (error) {  // nvmlReturn_t
    case 3:
      return "not supported by this GPU";
    case 4:
      return "not permitted to this user";
    case 6:
      return "no such GPU";
    case 9:
      return "NVIDIA's driver is not loaded";
    case 15:
      return "the GPU is lost";
    case 18:
      return "NVIDIA's driver and libnvidia-ml.so.1 have different versions";
    default:
      break;
  }
  const auto text = find<const char* (*)(int)>(library, "nvmlErrorString");
  return text != nullptr ? fmt::format("NVML: {}", text(error))
                         : fmt::format("error {} of NVML", error);
}

/// Calls a function of NVML with these arguments, whose types must be those of the function.
/// Enumerations are passed as int.
/// @return why it failed; empty if it did not
template <class... Arguments>
std::string call(void* library, const char* name, Arguments... arguments) {
  const auto function = find<int (*)(Arguments...)>(library, name);
  if (function == nullptr) return fmt::format("this driver has no {}", name);
  const int error = function(arguments...);
  return error == 0 ? "" : error_words(library, error);
}

std::string opened(const std::string& name, void*& library) {
  library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library != nullptr) return call(library, "nvmlInit_v2");
  const std::string why = dlerror();
  return why.find("No such file") != std::string::npos ? fmt::format("{} not found", name)
                                                       : fmt::format("cannot be loaded: {}", why);
}

std::string without_dashes(std::string uuid) {
  uuid.erase(std::remove(uuid.begin(), uuid.end(), '-'), uuid.end());
  std::transform(uuid.begin(), uuid.end(), uuid.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return uuid;
}

// Values of NVML's enumerations.
constexpr int die = 0, sm = 1, memory = 2;     // nvmlTemperatureSensors_t, nvmlClockType_t
constexpr int corrected = 0, uncorrected = 1;  // nvmlMemoryErrorType_t
constexpr int since_load = 0;                  // nvmlEccCounterType_t
constexpr int link_errors = 4;                 // nvmlNvLinkErrorCounter_t: 0 to 3
constexpr unsigned most_links = 18;            // NVML_NVLINK_MAX_LINKS

}  // namespace

template <class Number, class... Before>
Sensed<> GpuSensor::number(const char* name, double unit, Before... before) const {
  Number value{};
  std::string why = call(library_, name, gpu_, before..., &value);
  if (!why.empty()) return Sensed<>::none(why);
  return static_cast<double>(value) / unit;
}

Sensed<> GpuSensor::watts() const {
  return number<unsigned>("nvmlDeviceGetPowerUsage", 1000);
}

Sensed<> GpuSensor::joules() const {
  return number<unsigned long long>("nvmlDeviceGetTotalEnergyConsumption", 1000);
}

Sensed<std::string> GpuSensor::uuid() const {
  std::array<char, 96> text{};
  std::string why =
      call(library_, "nvmlDeviceGetUUID", gpu_, text.data(), static_cast<unsigned>(text.size()));
  return why.empty() ? Sensed<std::string>(text.data()) : Sensed<std::string>::none(why);
}

GpuReading GpuSensor::read() const {
  GpuReading reading;
  reading.watts = watts();
  reading.celsius = number<unsigned>("nvmlDeviceGetTemperature", 1, die);
  struct {
    unsigned gpu = 0, memory = 0;
  } percent;
  const std::string why =
      call(library_, "nvmlDeviceGetUtilizationRates", gpu_, static_cast<void*>(&percent));
  reading.utilization = why.empty() ? Sensed<>(percent.gpu / 100.) : Sensed<>::none(why);
  reading.memory_utilization = why.empty() ? Sensed<>(percent.memory / 100.) : Sensed<>::none(why);
  reading.sm_mhz = number<unsigned>("nvmlDeviceGetClockInfo", 1, sm);
  reading.memory_mhz = number<unsigned>("nvmlDeviceGetClockInfo", 1, memory);
  // Newer drivers have the first name, older ones the second.
  unsigned long long bits = 0;
  std::string no_bits = call(library_, "nvmlDeviceGetCurrentClocksEventReasons", gpu_, &bits);
  if (!no_bits.empty())
    no_bits = call(library_, "nvmlDeviceGetCurrentClocksThrottleReasons", gpu_, &bits);
  reading.throttle =
      no_bits.empty() ? Sensed<std::uint64_t>(bits) : Sensed<std::uint64_t>::none(no_bits);
  reading.pcie_generation = number<unsigned>("nvmlDeviceGetCurrPcieLinkGeneration", 1);
  reading.pcie_width = number<unsigned>("nvmlDeviceGetCurrPcieLinkWidth", 1);
  return reading;
}

GpuState GpuSensor::state() const {
  GpuState state;
  state.power_limit_watts = number<unsigned>("nvmlDeviceGetEnforcedPowerLimit", 1000);
  state.max_pcie_generation = number<unsigned>("nvmlDeviceGetMaxPcieLinkGeneration", 1);
  state.max_pcie_width = number<unsigned>("nvmlDeviceGetMaxPcieLinkWidth", 1);
  state.pcie_replays = number<unsigned>("nvmlDeviceGetPcieReplayCounter", 1);
  read_links(state);
  constexpr const char* ecc = "nvmlDeviceGetTotalEccErrors";
  state.ecc_corrected = number<unsigned long long>(ecc, 1, corrected, since_load);
  state.ecc_uncorrected = number<unsigned long long>(ecc, 1, uncorrected, since_load);
  std::array<unsigned, 4> rows{};
  const std::string why =
      call(library_, "nvmlDeviceGetRemappedRows", gpu_, &rows[0], &rows[1], &rows[2], &rows[3]);
  std::size_t next = 0;
  for (Sensed<>* figure : {&state.rows_remapped_corrected, &state.rows_remapped_uncorrected,
                           &state.remap_pending, &state.remap_failed})
    *figure = why.empty() ? Sensed<>(rows[next++]) : Sensed<>::none(why);
  return state;
}

void GpuSensor::read_links(GpuState& state) const {
  double up = 0, down = 0, sum = 0;
  std::string no_link, no_errors;
  unsigned link = 0;
  for (; link < most_links; ++link) {
    int is_up = 0;
    no_link = call(library_, "nvmlDeviceGetNvLinkState", gpu_, link, &is_up);
    if (!no_link.empty()) break;  // there are no more
    ++(is_up != 0 ? up : down);
    for (int kind = 0; is_up != 0 && kind < link_errors; ++kind) {
      unsigned long long errors = 0;
      const std::string why =
          call(library_, "nvmlDeviceGetNvLinkErrorCounter", gpu_, link, kind, &errors);
      sum += static_cast<double>(errors);
      if (!why.empty()) no_errors = why;
    }
  }
  if (link == 0) no_errors = no_link;
  state.nvlinks_up = link > 0 ? Sensed<>(up) : Sensed<>::none(no_link);
  state.nvlinks_down = link > 0 ? Sensed<>(down) : Sensed<>::none(no_link);
  state.nvlink_errors = no_errors.empty() ? Sensed<>(sum) : Sensed<>::none(no_errors);
}

Nvml::Nvml(const std::string& library) : why_none_(opened(library, library_)) {}

Sensed<std::string> Nvml::driver_version() const {
  if (!why_none_.empty()) return Sensed<std::string>::none(why_none_);
  std::array<char, 96> text{};
  std::string why =
      call(library_, "nvmlSystemGetDriverVersion", text.data(), static_cast<unsigned>(text.size()));
  return why.empty() ? Sensed<std::string>(text.data()) : Sensed<std::string>::none(why);
}

std::vector<GpuSensor> Nvml::gpus() const {
  std::vector<GpuSensor> found;
  unsigned count = 0;
  if (!why_none_.empty() || !call(library_, "nvmlDeviceGetCount_v2", &count).empty()) return found;
  for (unsigned i = 0; i < count; ++i) {
    void* gpu = nullptr;
    if (call(library_, "nvmlDeviceGetHandleByIndex_v2", i, &gpu).empty())
      found.push_back(GpuSensor(library_, gpu));
  }
  return found;
}

Sensed<GpuSensor> Nvml::gpu(const std::string& id) const {
  using Found = Sensed<GpuSensor>;
  if (!why_none_.empty()) return Found::none(why_none_);
  if (id.find(':') != std::string::npos) {
    void* gpu = nullptr;
    std::string why = call(library_, "nvmlDeviceGetHandleByPciBusId_v2", id.c_str(), &gpu);
    return why.empty() ? Found(GpuSensor(library_, gpu)) : Found::none(why);
  }
  for (const GpuSensor& gpu : gpus())
    if (const Sensed<std::string> uuid = gpu.uuid(); uuid && uuid_begins(*uuid, id)) return gpu;
  return Found::none("no such GPU");
}

const Nvml& nvml() {
  static const Nvml library;
  return library;
}

bool uuid_begins(const std::string& uuid, const std::string& beginning) {
  return !beginning.empty() && without_dashes(uuid).rfind(without_dashes(beginning), 0) == 0;
}

std::string throttle_words(std::uint64_t bits) {
  std::string text;
  for (std::size_t bit = 0; bit < throttle_reasons.size(); ++bit) {
    if ((bits >> bit & 1) == 0) continue;
    if (!text.empty()) text += ", ";
    text += throttle_reasons[bit].words;
  }
  return text;
}

}  // namespace speedwell
