// SPDX-License-Identifier: BSD-3-Clause
// Parts of an emulated GPU's multiprocessors. They change no result; a stream knows the size of its
// part, and what computes on it can be counted.
#include <algorithm>
#include <cstring>

#include "cuda.h"
#include "emulation.hpp"

struct CUdevResourceDesc_st {
  unsigned multiprocessors;
};

namespace lupine::emulation {

namespace {

constexpr unsigned unit = 2;  // of parts

CUresult get_device(CUdevice* device, int ordinal) {
  *device = ordinal;
  return CUDA_SUCCESS;
}

CUresult device_resource(CUdevice, CUdevResource* resource, CUdevResourceType type) {
  if (type != CU_DEV_RESOURCE_TYPE_SM) return CUDA_ERROR_INVALID_VALUE;
  *resource = {type, {static_cast<unsigned>(state().settings.multiprocessors), unit, unit}};
  return CUDA_SUCCESS;
}

CUresult split(CUdevResource* result, unsigned* groups, const CUdevResource* input,
               CUdevResource* remaining, unsigned, unsigned least) {
  if (result == nullptr || *groups != 1 || least > input->sm.smCount)
    return CUDA_ERROR_INVALID_VALUE;
  const unsigned size = std::max((least + unit - 1) / unit, 1U) * unit;
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
  note_if_messages_wait("cuGreenCtxCreate");
  *context = new CUgreenCtx_st{device, static_cast<int>(description->multiprocessors)};
  state().green_contexts.insert(*context);
  return CUDA_SUCCESS;
}

CUresult destroy(CUgreenCtx context) {
  if (state().green_contexts.erase(context) == 0) return CUDA_ERROR_INVALID_VALUE;
  delete context;
  return CUDA_SUCCESS;
}

CUresult create_stream(CUstream* stream, CUgreenCtx context, unsigned flags, int priority) {
  if (flags != CU_STREAM_NON_BLOCKING || !state().green_contexts.contains(context))
    return CUDA_ERROR_INVALID_VALUE;
  if (cudaStreamCreateWithPriority(stream, cudaStreamNonBlocking, priority) != cudaSuccess)
    return CUDA_ERROR_INVALID_VALUE;
  (*stream)->multiprocessors = context->multiprocessors;
  return CUDA_SUCCESS;
}

}  // namespace

void* green_context_function(const char* name) {
  if (state().settings.green_contexts == "none") return nullptr;
  const std::pair<const char*, void*> all[] = {
      {"cuDeviceGet", reinterpret_cast<void*>(&get_device)},
      {"cuDeviceGetDevResource", reinterpret_cast<void*>(&device_resource)},
      {"cuDevSmResourceSplitByCount", reinterpret_cast<void*>(&split)},
      {"cuDevResourceGenerateDesc", reinterpret_cast<void*>(&describe)},
      {"cuGreenCtxCreate", reinterpret_cast<void*>(&create)},
      {"cuGreenCtxDestroy", reinterpret_cast<void*>(&destroy)},
      {"cuGreenCtxStreamCreate", reinterpret_cast<void*>(&create_stream)}};
  for (const auto& [known, function] : all)
    if (std::strcmp(known, name) == 0) return function;
  return nullptr;
}

}  // namespace lupine::emulation
