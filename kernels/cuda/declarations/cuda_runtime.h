// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The part of the CUDA runtime that Speedwell uses, emulated on the host: for tests only. Values
/// are those of CUDA 13. What Speedwell must not use (the default stream, synchronous copies) is
/// left out, and does not compile or is refused. cudaDeviceSynchronize is for the caller's own work
/// alone.
#pragma once

#include <math.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <type_traits>
#include <utility>

#define SPEEDWELL_CUDA_EMULATED 1
#define CUDART_VERSION 13000
#define __global__
#define __device__
#define __host__
// Each block that runs has a thread of the host of its own.
#define __shared__ static thread_local
#define SPEEDWELL_DYNAMIC_SHARED(name) float4* const name = speedwell::emulation::dynamic_shared()
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))

enum cudaError {
  cudaSuccess = 0,
  cudaErrorInvalidValue = 1,
  cudaErrorMemoryAllocation = 2,
  cudaErrorInvalidConfiguration = 9,
  cudaErrorInvalidMemcpyDirection = 21,
  cudaErrorStubLibrary = 34,
  cudaErrorInsufficientDriver = 35,
  cudaErrorDevicesUnavailable = 46,
  cudaErrorNoDevice = 100,
  cudaErrorInvalidDevice = 101,
  cudaErrorInvalidResourceHandle = 400,
  cudaErrorNotReady = 600,
  cudaErrorIllegalAddress = 700,
  cudaErrorLaunchFailure = 719,
  cudaErrorCooperativeLaunchTooLarge = 720,
  cudaErrorNotSupported = 801,
  cudaErrorSystemNotReady = 802,
  cudaErrorSystemDriverMismatch = 803,
  cudaErrorCompatNotSupportedOnDevice = 804,
  cudaErrorUnknown = 999
};
using cudaError_t = cudaError;

enum cudaMemcpyKind {
  cudaMemcpyHostToHost = 0,
  cudaMemcpyHostToDevice = 1,
  cudaMemcpyDeviceToHost = 2,
  cudaMemcpyDeviceToDevice = 3,
  cudaMemcpyDefault = 4
};

enum cudaDeviceAttr { cudaDevAttrMultiProcessorCount = 16, cudaDevAttrComputeCapabilityMajor = 75 };

enum : unsigned {
  cudaStreamNonBlocking = 1,
  cudaEventDefault = 0,
  cudaEventBlockingSync = 1,
  cudaEventDisableTiming = 2
};

enum cudaMemoryType {
  cudaMemoryTypeUnregistered = 0,
  cudaMemoryTypeHost = 1,
  cudaMemoryTypeDevice = 2,
  cudaMemoryTypeManaged = 3
};

using cudaStream_t = struct CUstream_st*;
using cudaEvent_t = struct CUevent_st*;

struct CUuuid_st {
  char bytes[16];
};
using cudaUUID_t = CUuuid_st;

struct cudaDeviceProp {
  char name[256];
  cudaUUID_t uuid;
  std::size_t totalGlobalMem;
  int major;
  int minor;
  int multiProcessorCount;
  std::size_t sharedMemPerBlockOptin;
};

struct uint3 {
  unsigned x, y, z;
};
struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};
struct __align__(8) float2 {
  float x, y;
};
struct __align__(16) float4 {
  float x, y, z, w;
};
struct __align__(16) double2 {
  double x, y;
};
struct __align__(8) uint2 {
  unsigned x, y;
};
struct __align__(16) uint4 {
  unsigned x, y, z, w;
};

enum cudaLaunchAttributeID { cudaLaunchAttributeCooperative = 2 };
union cudaLaunchAttributeValue {
  char pad[64];
  int cooperative;
};
struct cudaLaunchAttribute {
  cudaLaunchAttributeID id;
  char pad[8 - sizeof(cudaLaunchAttributeID)];
  cudaLaunchAttributeValue val;
};
struct cudaLaunchConfig_t {
  dim3 gridDim;
  dim3 blockDim;
  std::size_t dynamicSmemBytes;
  cudaStream_t stream;
  cudaLaunchAttribute* attrs;  // of which Cooperative counts
  unsigned numAttrs;
};
enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize = 8 };
cudaError_t cudaFuncSetAttribute(const void* function, cudaFuncAttribute attribute, int value);

struct cudaPointerAttributes {
  cudaMemoryType type;
  int device;
  void* devicePointer;
  void* hostPointer;
};

using cudaGraph_t = struct CUgraph_st*;
using cudaGraphNode_t = struct CUgraphNode_st*;
enum cudaStreamCaptureMode { cudaStreamCaptureModeRelaxed = 2 };
enum cudaGraphNodeType { cudaGraphNodeTypeKernel = 0, cudaGraphNodeTypeEmpty = 5 };
enum cudaDriverEntryPointQueryResult {
  cudaDriverEntryPointSuccess = 0,
  cudaDriverEntryPointSymbolNotFound = 1
};
enum : unsigned long long { cudaEnableDefault = 0 };

const char* cudaGetErrorName(cudaError_t error);
const char* cudaGetErrorString(cudaError_t error);
cudaError_t cudaGetLastError();

cudaError_t cudaGetDeviceCount(int* count);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device);
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device);
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest);
cudaError_t cudaDriverGetVersion(int* version);
cudaError_t cudaRuntimeGetVersion(int* version);

cudaError_t cudaMalloc(void** pointer, std::size_t bytes);
cudaError_t cudaFree(void* pointer);
cudaError_t cudaMallocHost(void** pointer, std::size_t bytes);
cudaError_t cudaFreeHost(void* pointer);
cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total);
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer);
cudaError_t cudaDeviceSynchronize();
template <class T>
cudaError_t cudaMalloc(T** pointer, std::size_t bytes) {
  return cudaMalloc(reinterpret_cast<void**>(pointer), bytes);
}
template <class T>
cudaError_t cudaMallocHost(T** pointer, std::size_t bytes, unsigned = 0) {
  return cudaMallocHost(reinterpret_cast<void**>(pointer), bytes);
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream = nullptr);
cudaError_t cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from,
                              std::size_t from_pitch, std::size_t width, std::size_t height,
                              cudaMemcpyKind kind, cudaStream_t stream = nullptr);
cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t stream = nullptr);

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamQuery(cudaStream_t stream);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags = 0);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream = nullptr);
cudaError_t cudaEventQuery(cudaEvent_t event);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end);

// A stream that is captured runs nothing, and notes what it is given.
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode);
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph);
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, std::size_t* count);
cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, cudaGraphNodeType* type);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);
cudaError_t cudaGetDriverEntryPointByVersion(const char* name, void** function, unsigned version,
                                             unsigned long long flags,
                                             cudaDriverEntryPointQueryResult* found);

namespace speedwell::emulation {
cudaError_t launch(const cudaLaunchConfig_t& config, void (*kernel)(),
                   std::function<void()> thread);
void barrier();
/// The dynamic shared memory of the block that runs.
float4* dynamic_shared();
/// Lets another block run, if several run side by side.
void pause();
/// All threads of the mask come here; returns what the thread of that lane brought, or all ones if
/// it brought nothing. A thread waits for that lane alone.
std::uint64_t shuffle(unsigned mask, std::uint64_t bits, int from);
int lane();
template <class T>
T shuffle_value(unsigned mask, T value, int from) {
  static_assert(std::is_arithmetic_v<T> && sizeof(T) >= 4);
  if constexpr (sizeof(T) == 8) {
    return std::bit_cast<T>(shuffle(mask, std::bit_cast<std::uint64_t>(value), from));
  } else {
    const auto bits = shuffle(mask, std::bit_cast<std::uint32_t>(value), from);
    return std::bit_cast<T>(static_cast<std::uint32_t>(bits));
  }
}
template <class T>
T replace(T* at, T value) {
  const T before = std::exchange(*at, value);
  pause();
  return before;
}
}  // namespace speedwell::emulation

template <class... Expected, class... Actual>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(Expected...),
                               Actual&&... actual) {
  return [&](Expected... values) {
    return speedwell::emulation::launch(*config, reinterpret_cast<void (*)()>(kernel),
                                        [=] { kernel(values...); });
  }(std::forward<Actual>(actual)...);
}

// The kernel language. Threads change over at barriers and shuffles only, so that atomic
// operations are plain ones.
extern uint3 threadIdx;
extern uint3 blockIdx;
extern dim3 blockDim;
extern dim3 gridDim;
inline constexpr int warpSize = 32;

inline void __syncthreads() {
  speedwell::emulation::barrier();
}
/// Waits for each lane; a shuffle waits for one.
inline void __syncwarp(unsigned mask = 0xffffffffu) {
  for (int from = 0; from < warpSize; ++from) speedwell::emulation::shuffle(mask, 0, from);
}
inline void __threadfence() {}
inline void __nanosleep(unsigned) {
  speedwell::emulation::pause();
}

template <class T>
T __shfl_sync(unsigned mask, T value, int from, int width = 32) {
  const int own = speedwell::emulation::lane();
  return speedwell::emulation::shuffle_value(mask, value,
                                             (own & ~(width - 1)) | (from & (width - 1)));
}
template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32) {
  const int own = speedwell::emulation::lane();
  const int from = own + static_cast<int>(delta);
  return speedwell::emulation::shuffle_value(mask, value, from > (own | (width - 1)) ? own : from);
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int lanes, int width = 32) {
  const int own = speedwell::emulation::lane();
  const int from = own ^ lanes;
  return speedwell::emulation::shuffle_value(mask, value, from > (own | (width - 1)) ? own : from);
}

inline unsigned __ballot_sync(unsigned mask, int predicate) {
  unsigned all = 0;
  for (int from = 0; from < warpSize; ++from)
    if ((mask & (1u << from)) != 0 && __shfl_sync(mask, predicate != 0 ? 1 : 0, from) != 0)
      all |= 1u << from;
  return all;
}
inline int __ffs(int bits) {
  return __builtin_ffs(bits);
}

template <class T>
T atomicAdd(T* at, std::type_identity_t<T> value) {
  static_assert(sizeof(T) >= 4 && !std::is_same_v<T, std::int64_t>);
  return speedwell::emulation::replace(at, static_cast<T>(*at + value));
}
/// 0 once `limit` has been reached, so that a counter may start anew.
inline unsigned atomicInc(unsigned* at, unsigned limit) {
  return speedwell::emulation::replace(at, *at >= limit ? 0 : *at + 1);
}
template <class T>
T atomicMax(T* at, std::type_identity_t<T> value) {
  static_assert(std::is_integral_v<T> && sizeof(T) >= 4);
  return speedwell::emulation::replace(at, std::max(*at, value));
}
template <class T>
T atomicExch(T* at, std::type_identity_t<T> value) {
  return speedwell::emulation::replace(at, value);
}

template <class T>
void __stcg(T* at, std::type_identity_t<T> value) {
  *at = value;
}
template <class T>
T __ldcg(const T* at) {
  return *at;
}
inline long long __double_as_longlong(double value) {
  return std::bit_cast<long long>(value);
}
inline double __longlong_as_double(long long bits) {
  return std::bit_cast<double>(bits);
}
