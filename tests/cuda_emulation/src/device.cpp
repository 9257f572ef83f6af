// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Which devices there are, and what errors are called.
#include <cstdio>
#include <cstring>

#include "emulation.hpp"

using namespace speedwell::emulation;

namespace {

constexpr int capability = 9;

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

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  return call("cudaGetDeviceProperties", [&] {
    if (const auto error = check_device(device)) return error;
    *properties = {};
    std::snprintf(properties->name, sizeof(properties->name), "Emulated GPU");
    std::memcpy(properties->uuid.bytes, "emulated", 8);
    std::memcpy(properties->uuid.bytes + 12, &device, sizeof(device));
    properties->totalGlobalMem = state().settings.memory;
    properties->major = capability;
    properties->multiProcessorCount = state().settings.multiprocessors;
    properties->sharedMemPerBlockOptin = most_dynamic_shared;
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  return call("cudaDeviceGetAttribute", [&] {
    if (const auto error = check_device(device)) return error;
    *value =
        attribute == cudaDevAttrMultiProcessorCount ? state().settings.multiprocessors : capability;
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
