// SPDX-License-Identifier: BSD-3-Clause
#include "device/cuda/green_parts.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "cuda/kernels.hpp"
#include "device/cuda/driver_function.hpp"
#include "device/cuda/lane.hpp"

namespace speedwell {

#if CUDART_VERSION < 12050  // such a toolkit does not know green contexts

struct GreenParts::Parts {};
GreenParts::GreenParts(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
GreenParts::~GreenParts() = default;
std::shared_ptr<GreenParts> GreenParts::make(int) {
  return nullptr;
}
int GreenParts::unit() const {
  return 1;
}
int GreenParts::size(int) {
  return 0;
}
cudaStream_t GreenParts::make_stream(int, int) {
  return nullptr;
}

#else

struct GreenParts::Parts {
  /// The driver's functions for green contexts.
  struct Driver {
    using Get = CUresult (*)(CUdevice*, int);
    using Resource = CUresult (*)(CUdevice, CUdevResource*, CUdevResourceType);
    using Split = CUresult (*)(CUdevResource*, unsigned*, const CUdevResource*, CUdevResource*,
                               unsigned, unsigned);
    using Describe = CUresult (*)(CUdevResourceDesc*, CUdevResource*, unsigned);
    using Create = CUresult (*)(CUgreenCtx*, CUdevResourceDesc, CUdevice, unsigned);
    using Destroy = CUresult (*)(CUgreenCtx);
    using CreateStream = CUresult (*)(CUstream*, CUgreenCtx, unsigned, int);

    Get get = driver_function<Get>("cuDeviceGet", 2000);
    Resource resource = driver_function<Resource>("cuDeviceGetDevResource", 12040);
    Split split = driver_function<Split>("cuDevSmResourceSplitByCount", 12040);
    Describe describe = driver_function<Describe>("cuDevResourceGenerateDesc", 12040);
    Create create = driver_function<Create>("cuGreenCtxCreate", 12040);
    Destroy destroy = driver_function<Destroy>("cuGreenCtxDestroy", 12040);
    CreateStream create_stream = driver_function<CreateStream>("cuGreenCtxStreamCreate", 12050);

    bool whole() const {
      return get != nullptr && resource != nullptr && split != nullptr && describe != nullptr &&
             create != nullptr && destroy != nullptr && create_stream != nullptr;
    }
  };
  struct Part {
    int size = 0;
    CUgreenCtx context = nullptr;
  };
  Driver driver{};
  CUdevice device{};
  CUdevResource all{};
  std::map<int, Part> made{};  ///< by the number of multiprocessors that they leave

  bool find(int gpu) {
    return driver.whole() && driver.get(&device, gpu) == CUDA_SUCCESS &&
           driver.resource(device, &all, CU_DEV_RESOURCE_TYPE_SM) == CUDA_SUCCESS;
  }

  // The driver rounds what it is asked for up to whole units.
  Part make(int free) const {
    const int most = static_cast<int>(all.sm.smCount) - free;
    const int unit = static_cast<int>(all.sm.smCoscheduledAlignment);
    const int asked = unit > 0 ? most / unit * unit : 0;
    if (asked < static_cast<int>(all.sm.minSmPartitionSize)) return {};
    CUdevResource group{};
    CUdevResource rest{};
    unsigned groups = 1;
    CUdevResourceDesc description = nullptr;
    Part part;
    if (driver.split(&group, &groups, &all, &rest, 0, static_cast<unsigned>(asked)) !=
            CUDA_SUCCESS ||
        groups != 1 || static_cast<int>(group.sm.smCount) > most ||
        driver.describe(&description, &group, 1) != CUDA_SUCCESS ||
        driver.create(&part.context, description, device, CU_GREEN_CTX_DEFAULT_STREAM) !=
            CUDA_SUCCESS)
      return {};
    part.size = static_cast<int>(group.sm.smCount);
    return part;
  }

  const Part& part(int free) {
    const auto [place, is_new] = made.try_emplace(free);
    if (is_new) place->second = make(free);
    return place->second;
  }
};

GreenParts::GreenParts(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

GreenParts::~GreenParts() {
  for (const auto& [free, part] : parts_->made)
    if (part.context != nullptr) parts_->driver.destroy(part.context);
}

std::shared_ptr<GreenParts> GreenParts::make(int gpu) {
  auto parts = std::make_unique<Parts>();
  if (!parts->find(gpu)) return nullptr;
  std::shared_ptr<GreenParts> made(new GreenParts(std::move(parts)));
  return made->runs() ? made : nullptr;
}

int GreenParts::unit() const {
  return std::max(static_cast<int>(parts_->all.sm.smCoscheduledAlignment), 1);
}

int GreenParts::size(int free) {
  return parts_->part(free).size;
}

cudaStream_t GreenParts::make_stream(int free, int priority) {
  const Parts::Part& part = parts_->part(free);
  cudaStream_t stream = nullptr;
  if (part.size == 0 || parts_->driver.create_stream(&stream, part.context, CU_STREAM_NON_BLOCKING,
                                                     priority) != CUDA_SUCCESS)
    return nullptr;
  return stream;
}

// Whether a kernel of the runtime's, and an event between two streams, work in a part: whether they
// may is said differently in the documentation of different versions.
bool GreenParts::runs() {
  const Buffer memory = allocate_on_gpu(4 * sizeof(double));
  const cudaStream_t stream = make_stream(unit(), 0);
  if (stream == nullptr) return false;
  cudaEvent_t event = nullptr;
  bool works = cudaEventCreateWithFlags(&event, cudaEventDisableTiming) == cudaSuccess;
  if (works) {
    auto* const numbers = memory.as<double>();
    auto* const results = reinterpret_cast<float*>(numbers + 2);
    works =
        cudaMemsetAsync(memory.data(), 0, 4 * sizeof(double), stream) == cudaSuccess &&
        cuda::inverse_scale(stream, numbers, numbers + 1, results, results + 1) == cudaSuccess &&
        cudaEventRecord(event, stream) == cudaSuccess &&
        cudaStreamWaitEvent(stream, event, 0) == cudaSuccess &&
        cudaStreamSynchronize(stream) == cudaSuccess;
  }
  if (event != nullptr) cudaEventDestroy(event);
  cudaStreamDestroy(stream);
  cudaGetLastError();  // CUDA keeps the error until it is asked
  return works;
}

#endif

}  // namespace speedwell
