// SPDX-License-Identifier: BSD-3-Clause
#include "device/cuda/gpu_resources.hpp"

#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

#include "device/cuda/check.hpp"

namespace speedwell {

namespace {

constexpr std::int64_t most_pinned = std::int64_t{256} << 20;

/// What no device uses. It is never destroyed: CUDA may have ended before a program's destructors.
struct Kept {
  pid_t process = getpid();
  std::mutex mutex;
  std::vector<std::unique_ptr<GpuResources>> all;
};

Kept& kept() {
  static Kept* one = new Kept;                   // NOLINT(*-non-const-global-variables)
  if (one->process != getpid()) one = new Kept;  // a child cannot use its parent's CUDA
  return *one;
}

std::int64_t most_on_gpu(const GpuResources& resources) {
  return static_cast<std::int64_t>(resources.properties.totalGlobalMem / 8);
}

void leave(GpuResources* resources) {
  std::unique_ptr<GpuResources> owned(resources);
  for (const auto& memory : {owned->memory, owned->pinned}) memory->before_free({});
  // A rehearsal that an exception has ended would leave products out.
  const bool is_whole = owned->products && !owned->products->rehearses();
  if (!is_whole || cudaSetDevice(owned->gpu) != cudaSuccess || !owned->is_idle()) return;
  for (const auto& lane : owned->lanes) lane->rest();
  owned->memory->settle();
  owned->pinned->settle();
  owned->memory->free_kept(most_on_gpu(*owned));
  owned->pinned->free_kept(most_pinned);
  const std::lock_guard lock(kept().mutex);
  kept().all.push_back(std::move(owned));
}

}  // namespace

GpuResources::GpuResources(int ordinal) : gpu(ordinal) {
  check(cudaGetDeviceProperties(&properties, gpu), "cudaGetDeviceProperties");
  for (const auto& one : {memory, pinned}) {
    one->idle_when([this] { return is_idle(); });
    one->where_short(&release_kept_resources);
  }
}

// Buffers may outlive the lanes.
GpuResources::~GpuResources() {
  for (const auto& one : {memory, pinned}) one->idle_when({});
}

bool GpuResources::is_idle() const {
  return std::ranges::all_of(lanes, [](const std::unique_ptr<Lane>& lane) {
    return cudaStreamQuery(lane->stream()) == cudaSuccess;
  });
}

std::shared_ptr<GpuResources> kept_resources(int gpu) {
  std::unique_ptr<GpuResources> taken;
  {
    const std::lock_guard lock(kept().mutex);
    const auto of_gpu = std::ranges::find(kept().all, gpu, &GpuResources::gpu);
    if (of_gpu != kept().all.end()) {
      taken = std::move(*of_gpu);
      kept().all.erase(of_gpu);
    }
  }
  if (taken)
    taken->products->reuse();
  else
    taken = std::make_unique<GpuResources>(gpu);
  std::shared_ptr<GpuResources> resources(taken.release(), &leave);
  for (const auto& lane : resources->lanes) lane->renew();
  for (const auto& memory : {resources->memory, resources->pinned}) {
    memory->keep(true);
    memory->restart();
  }
  return resources;
}

bool release_kept_resources() {
  std::vector<std::unique_ptr<GpuResources>> all;
  {
    const std::lock_guard lock(kept().mutex);
    all.swap(kept().all);
  }
  for (auto& one : all) {
    cudaSetDevice(one->gpu);
    one.reset();
  }
  if (gpu_in_use() >= 0) cudaSetDevice(gpu_in_use());
  return !all.empty();
}

}  // namespace speedwell
