// SPDX-License-Identifier: BSD-3-Clause
/// What a program asks of the machine on which it runs, answered for a simulated machine. These
/// functions stand in the place of those in core/, comm/, device/ and setup/.
#include "comm/communicator.hpp"
#include "core/clock.hpp"
#include "device/cuda/cuda_device.hpp"
#include "device/cuda/cuda_hooks.hpp"
#include "device/device.hpp"
#include "factor/equal_vector.hpp"
#include "host/blas_library.hpp"
#include "host/processor.hpp"
#include "host/thread_scope.hpp"
#include "paper/world.hpp"
#include "refine/vectors.hpp"
#include "setup/memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <new>
#include <vector>

namespace speedwell {

namespace {

class PaperGpu final : public CudaDevice {
 public:
  explicit PaperGpu(const DeviceOptions& options) : CudaDevice(of_one_run(options)) {}
  std::string description() const override { return paper::self().device().name + ", simulated"; }
  std::string fp64_products() const override { return {}; }  // no library decides
  std::optional<Paper> on_paper() const override {
    return paper::paper_of(*paper::self().scenario);
  }

 private:
  static DeviceOptions of_one_run(DeviceOptions options) {
    options.alone = false;
    return options;
  }
};

constexpr std::size_t long_vector = 64 << 10;  // bytes

struct EqualPiece {
  std::unique_ptr<std::byte[]> memory;
  int users = 0;  // ranks
};
std::map<std::uint64_t, EqualPiece>& equal_pieces() {
  static std::map<std::uint64_t, EqualPiece> pieces;
  return pieces;
}

}  // namespace

double SteadyClock::now() const {
  return paper::self().now();
}

const std::string& host_name() {
  static std::map<int, std::string> names;  // by node
  const int node = paper::self().node();
  return names.try_emplace(node, fmt::format("node{}", node)).first->second;
}

std::unique_ptr<Device> make_device(const DeviceOptions& options) {
  return std::make_unique<PaperGpu>(options);
}
int count_gpus() {
  return 1;
}
CudaDevices gpus_here() {
  return {count_gpus(), why_no_gpus()};
}
bool in_gpu_memory(const void*) {
  return false;
}
void release_gpus() {}
std::string why_no_gpus() {
  return "";
}

ProcessorInfo processor_info() {
  const MachineModel& machine = paper::self().scenario->machine;
  const int cores = machine.cores / machine.devices;
  return {machine.device.name, {}, cores, cores};
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
bool is_other_blas() {
  return false;
}

std::string onednn_description() {
  return "none";
}

NodeMemory node_memory(const std::filesystem::path&) {
  const MachineModel& machine = paper::self().scenario->machine;
  const auto share = static_cast<std::int64_t>(machine.node_memory / machine.devices);
  return {share, share, "the machine's file"};
}
std::int64_t process_memory_left() {
  return std::numeric_limits<std::int64_t>::max();
}
bool forget_resident_peak() {
  return false;
}
std::optional<std::int64_t> resident_peak() {
  return std::nullopt;
}
std::optional<std::int64_t> bytes_in_large_pages() {
  return std::nullopt;
}

// No operation computes anything with long vectors, so all of them lie in the same memory: those of
// a thousand ranks would need many gigabytes.
ReuseVectors::ReuseVectors() = default;
ReuseVectors::~ReuseVectors() {
  give_back(nullptr, 0);
}
void* ReuseVectors::take(std::size_t bytes) {
  if (bytes < long_vector) return ::operator new(bytes);
  static std::vector<std::unique_ptr<std::byte[]>> shared;  // each larger than the one before
  static std::size_t largest = 0;
  if (bytes > largest) {
    shared.push_back(std::make_unique<std::byte[]>(bytes));
    largest = bytes;
  }
  return shared.back().get();
}
void ReuseVectors::give_back(void* block, std::size_t bytes) noexcept {
  if (bytes < long_vector) ::operator delete(block);
}

// The vectors that ranks take with the same number have the same entries, and lie in one memory.
// Ranks may be a vector ahead of others.
void* EqualMemory::take(std::size_t bytes) {
  EqualPiece& piece = equal_pieces()[paper::self().equal_vectors++];
  if (!piece.memory) piece.memory = std::make_unique<std::byte[]>(bytes);
  ++piece.users;
  return piece.memory.get();
}
void EqualMemory::give_back(void* block, std::size_t) noexcept {
  const auto piece = std::ranges::find_if(
      equal_pieces(), [&](const auto& one) { return one.second.memory.get() == block; });
  if (--piece->second.users == 0) equal_pieces().erase(piece);
}

int blas_threads() {
  return 1;
}

int largest_team() {
  return std::numeric_limits<int>::max();
}

ThreadScope::ThreadScope(int) : around_(0) {}
ThreadScope::~ThreadScope() {
  around_ = 0;  // no threads to set back
}

}  // namespace speedwell
