// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Which devices there are, and what errors are called.
#include <cstdio>
#include <cstring>

#include "emulation.hpp"

using namespace speedwell::emulation;

namespace {

constexpr int l2_bytes = 1 << 20;

int& device_of_thread() {
  static thread_local int device = 0;
  return device;
}

cudaError_t check_device(int device) {
  const int devices = state().settings.devices;
  if (devices == 0) return cudaErrorNoDevice;
  return device >= 0 && device < devices ? cudaSuccess : cudaErrorInvalidDevice;
}

struct ErrorName {
  cudaError_t error;
  const char* name;
  const char* text;
};

const ErrorName& named(cudaError_t error) {
  static constexpr ErrorName names[] = {
      {cudaSuccess, "cudaSuccess", "no error"},
      {cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
      {cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
      {cudaErrorInvalidConfiguration, "cudaErrorInvalidConfiguration",
       "invalid configuration argument"},
      {cudaErrorInvalidMemcpyDirection, "cudaErrorInvalidMemcpyDirection",
       "invalid copy direction for memcpy"},
      {cudaErrorInsufficientDriver, "cudaErrorInsufficientDriver",
       "CUDA driver version is insufficient for CUDA runtime version"},
      {cudaErrorDevicesUnavailable, "cudaErrorDevicesUnavailable",
       "CUDA-capable device(s) is/are busy or unavailable"},
      {cudaErrorNoDevice, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
      {cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
      {cudaErrorInvalidResourceHandle, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
      {cudaErrorNotReady, "cudaErrorNotReady", "device not ready"},
      {cudaErrorIllegalAddress, "cudaErrorIllegalAddress",
       "an illegal memory access was encountered"},
      {cudaErrorLaunchFailure, "cudaErrorLaunchFailure", "unspecified launch failure"},
      {cudaErrorCooperativeLaunchTooLarge, "cudaErrorCooperativeLaunchTooLarge",
       "too many blocks in cooperative launch"},
      {cudaErrorNotSupported, "cudaErrorNotSupported", "operation not supported"},
      {cudaErrorUnknown, "cudaErrorUnknown", "unrecognized error code"}};
  for (const ErrorName& name : names) {
    if (name.error == error) return name;
  }
  return *(std::end(names) - 1);
}

int attribute_of(cudaDeviceAttr attribute, int device) {
  switch (attribute) {
    case cudaDevAttrMaxThreadsPerBlock:
    case cudaDevAttrMaxThreadsPerMultiProcessor:
      return 1024;
    case cudaDevAttrMaxSharedMemoryPerBlock:
      return 48 << 10;
    case cudaDevAttrWarpSize:
      return warpSize;
    case cudaDevAttrMultiProcessorCount:
      return state().settings.multiprocessors;
    case cudaDevAttrL2CacheSize:
      return l2_bytes;
    case cudaDevAttrPciBusId:
      return device + 1;
    case cudaDevAttrComputeCapabilityMajor:
      return 9;
    case cudaDevAttrClockRate:
    case cudaDevAttrMemoryClockRate:
      return 1000000;
    case cudaDevAttrGlobalMemoryBusWidth:
      return 64;
    case cudaDevAttrPciDeviceId:
    case cudaDevAttrPciDomainId:
    case cudaDevAttrComputeCapabilityMinor:
      return 0;
  }
  return 0;
}

}  // namespace

cudaError_t speedwell::emulation::current_device(int& device) {
  device = device_of_thread();
  return check_device(device);
}

const char* cudaGetErrorName(cudaError_t error) {
  return named(error).name;
}
const char* cudaGetErrorString(cudaError_t error) {
  return named(error).text;
}

cudaError_t cudaPeekAtLastError() {
  const std::lock_guard lock(state().mutex);
  return state().last;
}

cudaError_t cudaGetLastError() {
  const std::lock_guard lock(state().mutex);
  return std::exchange(state().last, state().sticky);
}

cudaError_t cudaGetDeviceCount(int* count) {
  return call("cudaGetDeviceCount", [&] {
    *count = 0;
    if (state().settings.driver / 1000 < CUDART_VERSION / 1000) return cudaErrorInsufficientDriver;
    *count = state().settings.devices;
    return *count == 0 ? cudaErrorNoDevice : cudaSuccess;
  });
}

cudaError_t cudaSetDevice(int device) {
  return call("cudaSetDevice", [&] {
    const cudaError_t error = check_device(device);
    if (error == cudaSuccess) device_of_thread() = device;
    return error;
  });
}

cudaError_t cudaGetDevice(int* device) {
  return call("cudaGetDevice", [&] { return current_device(*device); });
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  return call("cudaGetDeviceProperties", [&] {
    if (const auto error = check_device(device)) return error;
    *properties = {};
    std::snprintf(properties->name, sizeof(properties->name), "Emulated GPU");
    std::memcpy(properties->uuid.bytes, "emulated", 8);
    std::memcpy(properties->uuid.bytes + 12, &device, sizeof(device));
    properties->totalGlobalMem = state().settings.memory;
    properties->sharedMemPerBlock = 48 << 10;
    properties->regsPerBlock = 1 << 16;
    properties->warpSize = warpSize;
    properties->maxThreadsPerBlock = properties->maxThreadsPerMultiProcessor = 1024;
    for (int& dimension : properties->maxThreadsDim) dimension = 1024;
    properties->maxThreadsDim[2] = 64;
    for (int& dimension : properties->maxGridSize) dimension = 65535;
    properties->maxGridSize[0] = 2147483647;
    properties->major = 9;
    properties->multiProcessorCount = state().settings.multiprocessors;
    properties->pciBusID = device + 1;
    properties->sharedMemPerBlockOptin = most_dynamic_shared;
    properties->asyncEngineCount = 2;
    properties->unifiedAddressing = 1;
    properties->memoryBusWidth = 64;
    properties->l2CacheSize = l2_bytes;
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  return call("cudaDeviceGetAttribute", [&] {
    if (const auto error = check_device(device)) return error;
    *value = attribute_of(attribute, device);
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceGetPCIBusId(char* id, int length, int device) {
  return call("cudaDeviceGetPCIBusId", [&] {
    if (const auto error = check_device(device)) return error;
    if (length < 13) return cudaErrorInvalidValue;
    std::snprintf(id, static_cast<std::size_t>(length), "0000:%02X:00.0", (device + 1) & 0xff);
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  return call("cudaDeviceGetStreamPriorityRange", [&] {
    *least = 0;
    *greatest = greatest_priority;
    return cudaSuccess;
  });
}

// Asks no device, so that it works whatever has failed.
cudaError_t cudaDriverGetVersion(int* version) {
  const std::lock_guard lock(state().mutex);
  *version = state().settings.driver;
  return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int* version) {
  return call("cudaRuntimeGetVersion", [&] {
    *version = CUDART_VERSION;
    return cudaSuccess;
  });
}
