// SPDX-License-Identifier: BSD-3-Clause
#include <green_contexts.hpp>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <utility>

struct CUdevResourceDesc_st {
  unsigned multiprocessors;
};

namespace speedwell::green {

namespace {

std::map<CUgreenCtx, std::unique_ptr<CUgreenCtx_st>>& contexts() {
  static std::map<CUgreenCtx, std::unique_ptr<CUgreenCtx_st>> all;
  return all;
}

CUresult get_device(CUdevice* device, int ordinal) {
  *device = ordinal;
  return CUDA_SUCCESS;
}

CUresult device_resource(CUdevice, CUdevResource* resource, CUdevResourceType type) {
  if (type != CU_DEV_RESOURCE_TYPE_SM) return CUDA_ERROR_INVALID_VALUE;
  *resource = {type, {multiprocessors(), unit(), unit()}};
  return CUDA_SUCCESS;
}

CUresult split(CUdevResource* result, unsigned* groups, const CUdevResource* input,
               CUdevResource* remaining, unsigned, unsigned least) {
  if (result == nullptr || *groups != 1 || least > input->sm.smCount)
    return CUDA_ERROR_INVALID_VALUE;
  const unsigned size = std::max((least + unit() - 1) / unit(), 1U) * unit();
  if (size > input->sm.smCount) *groups = 0;
  *result = *remaining = *input;
  result->sm.smCount = size;
  remaining->sm.smCount -= std::min(size, input->sm.smCount);
  return CUDA_SUCCESS;
}

CUresult describe(CUdevResourceDesc* description, CUdevResource* resources, unsigned count) {
  // Descriptions live as long as the program, as the driver's do.
  static std::map<unsigned, CUdevResourceDesc_st> made;
  if (count != 1 || resources->type != CU_DEV_RESOURCE_TYPE_SM) return CUDA_ERROR_INVALID_VALUE;
  *description =
      &made.try_emplace(resources->sm.smCount, CUdevResourceDesc_st{resources->sm.smCount})
           .first->second;
  return CUDA_SUCCESS;
}

CUresult create(CUgreenCtx* context, CUdevResourceDesc description, CUdevice device,
                unsigned flags) {
  if (flags != CU_GREEN_CTX_DEFAULT_STREAM) return CUDA_ERROR_INVALID_VALUE;
  making_context();
  auto made = std::make_unique<CUgreenCtx_st>(
      CUgreenCtx_st{device, static_cast<int>(description->multiprocessors)});
  *context = made.get();
  contexts().emplace(*context, std::move(made));
  return CUDA_SUCCESS;
}

CUresult destroy(CUgreenCtx context) {
  return contexts().erase(context) == 1 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult create_stream(CUstream* stream, CUgreenCtx context, unsigned flags, int priority) {
  if (flags != CU_STREAM_NON_BLOCKING || !contexts().contains(context))
    return CUDA_ERROR_INVALID_VALUE;
  if (cudaStreamCreateWithPriority(stream, cudaStreamNonBlocking, priority) != cudaSuccess)
    return CUDA_ERROR_INVALID_VALUE;
  limit(*stream, context->multiprocessors);
  return CUDA_SUCCESS;
}

}  // namespace

std::size_t live_contexts() {
  return contexts().size();
}

void* driver_function(const char* name) {
  if (unit() == 0) return nullptr;
  const std::pair<const char*, void*> all[] = {
      {"cuDeviceGet", reinterpret_cast<void*>(&get_device)},
      {"cuDeviceGetDevResource", reinterpret_cast<void*>(&device_resource)},
      {"cuDevSmResourceSplitByCount", reinterpret_cast<void*>(&split)},
      {"cuDevResourceGenerateDesc", reinterpret_cast<void*>(&describe)},
      {"cuGreenCtxCreate", reinterpret_cast<void*>(&create)},
      {"cuGreenCtxDestroy", reinterpret_cast<void*>(&destroy)},
      {"cuGreenCtxStreamCreate", reinterpret_cast<void*>(&create_stream)}};
  for (const auto& [one, function] : all)
    if (std::strcmp(one, name) == 0) return function;
  return nullptr;
}

}  // namespace speedwell::green
