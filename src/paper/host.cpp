// SPDX-License-Identifier: BSD-3-Clause
/// What a program asks of the machine on which it runs, answered for a machine on paper. These
/// functions stand in the place of those in core/, device/ and setup/.
#include "core/clock.hpp"
#include "device/cpu/processor.hpp"
#include "device/cpu/thread_scope.hpp"
#include "device/cuda/cuda_device.hpp"
#include "device/cuda/cuda_hooks.hpp"
#include "device/device.hpp"
#include "paper/cpu_device.hpp"
#include "paper/world.hpp"
#include "setup/memory.hpp"

#include <limits>

namespace lupine {

namespace {

class PaperGpu final : public CudaDevice {
 public:
  explicit PaperGpu(const DeviceOptions& options) : CudaDevice(options) {}
  std::string description() const override { return paper::self().device().name + ", on paper"; }
  std::optional<Paper> on_paper() const override {
    return paper::paper_of(*paper::self().scenario);
  }
};

bool has_gpus() {
  return paper::self().scenario->machine.kind == DeviceKind::cuda;
}

}  // namespace

double SteadyClock::now() const {
  return paper::self().now();
}

std::unique_ptr<Device> make_device(const DeviceOptions& options) {
  if (options.kind == DeviceKind::cuda) return std::make_unique<PaperGpu>(options);
  return paper::make_cpu_device();
}
int count_gpus() {
  return has_gpus() ? 1 : 0;
}
CudaDevices gpus_here() {
  return {count_gpus(), why_no_gpus()};
}
std::string why_no_gpus() {
  return has_gpus() ? "" : "the machine on paper has none";
}

ProcessorInfo processor_info() {
  const paper::Scenario& scenario = *paper::self().scenario;
  const int cores = scenario.machine.cores / scenario.machine.devices;
  return {scenario.device.name, {}, cores, cores};
}
int bound_cores() {
  return processor_info().bound_cores;
}
std::string core_binding() {
  return "";
}
bool bindings_overlap(const std::string&, const std::string&) {
  return true;
}
std::string blas_description() {
  return "no BLAS";
}

NodeMemory node_memory(const std::filesystem::path&) {
  const MachineModel& machine = paper::self().scenario->machine;
  const auto share = static_cast<std::int64_t>(machine.node_memory / machine.devices);
  return {share, share, "the machine's file"};
}
std::int64_t process_memory_left() {
  return std::numeric_limits<std::int64_t>::max();
}

ThreadScope::ThreadScope(int) : around_(0) {}
ThreadScope::~ThreadScope() {
  around_ = 0;  // no threads to set back
}

}  // namespace lupine
