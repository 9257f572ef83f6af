// SPDX-License-Identifier: BSD-3-Clause
/// CUDA's runtime, simulated.
#include <cuda_runtime.h>
#include <green_contexts.hpp>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "paper/cuda/gpu.hpp"

namespace speedwell::paper {

void launch(cudaStream_t stream, Load load) {
  Rank& rank = *stream->rank;
  rank.owe(rank.device().launch);
  rank.asked = nullptr;
  load.start += rank.device().start;
  load.part = std::min(load.part, stream->part);
  rank.timeline->run(stream->number, rank.now(), load);
  stream->last = nullptr;
}

Load arithmetic(const OperationModel& model, double work, double m, double n, double k,
                double bytes, double part) {
  return {.compute = model.seconds(work, m, n, k), .bytes = bytes, .part = part};
}

Load traffic(const DeviceModel& device, OperationKind kind, Precision precision, double m,
             double n) {
  if (m <= 0 || n <= 0) return {};
  const double work = kind == OperationKind::eliminate ? 2 * m * n : m * n;
  return {.bytes = device.of(kind, precision).seconds(work, m, n, 1) * device.bandwidth};
}

void launch_product(cudaStream_t stream, const OperationModel& model, double element,
                    double c_element, std::int64_t m, std::int64_t n, std::int64_t k,
                    int multiprocessors) {
  const DeviceModel& device = stream->rank->device();
  const auto rows = static_cast<double>(m);
  const auto columns = static_cast<double>(n);
  const auto width = static_cast<double>(k);
  const double bytes = element * (rows * width + width * columns) + 2 * c_element * rows * columns;
  const double part =
      multiprocessors > 0
          ? std::min(1., static_cast<double>(multiprocessors) / device.multiprocessors)
          : 1;
  launch(stream, arithmetic(model, 2 * rows * columns * width, rows, columns, width, bytes, part));
}

namespace {

void owe_event() {
  Rank& rank = self();
  rank.asked = nullptr;
  rank.owe(event_part * rank.device().launch);
}

// Whether both memories hold values.
bool real(const void* a, const void* b) {
  return Memory::real(a) && Memory::real(b);
}

MomentPtr last_of(cudaStream_t stream) {
  if (!stream->last) stream->last = stream->rank->timeline->record(stream->number, self().now());
  return stream->last;
}

// A host that asks again and again waits. With peers it does nothing else meanwhile; otherwise it
// lets time pass between its questions, a part of what it has waited so far: so the time at which
// it learns of the moment is exact to that part.
cudaError_t ask(Rank& rank, const MomentPtr& moment) {
  constexpr double first_pause = 1e-6;
  constexpr double pause_part = 0.02;
  const auto reached = [&] { return moment->known && moment->time <= rank.now(); };
  if (reached()) return cudaSuccess;
  const Moment* const before = std::exchange(rank.asked, moment.get());
  if (before == nullptr) rank.asked_since = rank.now();
  if (rank.connected && before == moment.get()) {
    rank.wait(moment);
    return cudaSuccess;
  }
  if (rank.connected || before == nullptr) return cudaErrorNotReady;
  rank.pay();
  const double pause = std::max(first_pause, pause_part * (simulated_time() - rank.asked_since));
  sleep_for(moment->known ? std::min(pause, moment->time - simulated_time()) : pause);
  return reached() ? cudaSuccess : cudaErrorNotReady;
}

}  // namespace

}  // namespace speedwell::paper

namespace speedwell::green {

unsigned multiprocessors() {
  return static_cast<unsigned>(paper::self().device().multiprocessors);
}
unsigned unit() {
  return static_cast<unsigned>(paper::self().device().part_unit);
}
void making_context() {}
void limit(cudaStream_t stream, int multiprocessors) {
  stream->part = static_cast<double>(multiprocessors) / stream->rank->device().multiprocessors;
}

}  // namespace speedwell::green

using namespace speedwell;
using namespace speedwell::paper;

const char* cudaGetErrorName(cudaError_t error) {
  return error == cudaSuccess ? "cudaSuccess" : "cudaError";
}
const char* cudaGetErrorString(cudaError_t error) {
  return error == cudaSuccess ? "no error" : "an error of the simulated GPU";
}
cudaError_t cudaGetLastError() {
  return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int* count) {
  *count = 1;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int) {
  return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  const Rank& rank = self();
  const DeviceModel& device = rank.device();
  *properties = {};
  std::strncpy(properties->name, device.name.c_str(), sizeof(properties->name) - 1);
  std::memcpy(properties->uuid.bytes, &rank.number, sizeof(rank.number));
  properties->totalGlobalMem = static_cast<std::size_t>(device.memory);
  properties->multiProcessorCount = device.multiprocessors;
  properties->major = 9;
  properties->sharedMemPerBlockOptin = 227 << 10;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  *value = attribute == cudaDevAttrMultiProcessorCount ? self().device().multiprocessors : 9;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = 0;
  *greatest = -5;
  return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t cudaMalloc(void** pointer, std::size_t bytes) {
  Rank& rank = self();
  *pointer = rank.memory.allocate(static_cast<std::int64_t>(bytes), rank.device().memory);
  return *pointer != nullptr ? cudaSuccess : cudaErrorMemoryAllocation;
}
cudaError_t cudaFree(void* pointer) {
  if (pointer != nullptr) self().memory.release(pointer);
  return cudaSuccess;
}
// The host's memory has no limit here: plan() has checked that it suffices.
cudaError_t cudaMallocHost(void** pointer, std::size_t bytes) {
  *pointer = self().memory.allocate(static_cast<std::int64_t>(bytes), 1e15);
  return *pointer != nullptr ? cudaSuccess : cudaErrorMemoryAllocation;
}
cudaError_t cudaFreeHost(void* pointer) {
  return cudaFree(pointer);
}
// The caller of a simulated rank has no arrays of its own.
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void*) {
  *attributes = {};
  return cudaSuccess;
}
cudaError_t cudaDeviceSynchronize() {
  return cudaErrorNotSupported;
}
cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  const Rank& rank = self();
  *total = static_cast<std::size_t>(rank.device().memory);
  *free = static_cast<std::size_t>(std::max(0., rank.device().memory - rank.memory.used()));
  return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  if (real(to, from)) std::memcpy(to, from, bytes);
  const DeviceModel& device = stream->rank->device();
  const auto moved = static_cast<double>(bytes);
  launch(stream, kind == cudaMemcpyDeviceToDevice ? Load{.bytes = 2 * moved}
                                                  : Load{.start = moved / device.host_bandwidth});
  return cudaSuccess;
}
cudaError_t cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from,
                              std::size_t from_pitch, std::size_t width, std::size_t height,
                              cudaMemcpyKind kind, cudaStream_t stream) {
  if (real(to, from))
    for (std::size_t row = 0; row < height; ++row)
      std::memcpy(static_cast<char*>(to) + row * to_pitch,
                  static_cast<const char*>(from) + row * from_pitch, width);
  const auto moved = static_cast<double>(width) * static_cast<double>(height);
  launch(stream, kind == cudaMemcpyDeviceToDevice
                     ? Load{.bytes = 2 * moved}
                     : Load{.start = moved / stream->rank->device().host_bandwidth});
  return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t stream) {
  if (Memory::real(to)) std::memset(to, value, bytes);
  launch(stream, {.bytes = static_cast<double>(bytes)});
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned, int priority) {
  Rank& rank = self();
  *stream = new CUstream_st{&rank, rank.timeline->add(-priority), nullptr};
  return cudaSuccess;
}
// Its place in the timeline stays: streams are made once in a run.
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  delete stream;
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  self().wait(last_of(stream));
  return cudaSuccess;
}
cudaError_t cudaStreamQuery(cudaStream_t stream) {
  return ask(self(), last_of(stream));
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  owe_event();
  if (event->moment) stream->rank->timeline->wait(stream->number, event->moment);
  stream->last = nullptr;
  return cudaSuccess;
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  *event = new CUevent_st{&self(), nullptr};
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  owe_event();
  event->moment = stream->rank->timeline->record(stream->number, self().now());
  return cudaSuccess;
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  return event->moment ? ask(self(), event->moment) : cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  if (event->moment) self().wait(event->moment);
  return cudaSuccess;
}
// Of a driver, a simulated machine has green contexts alone.
cudaError_t cudaGetDriverEntryPointByVersion(const char* name, void** function, unsigned,
                                             unsigned long long,
                                             cudaDriverEntryPointQueryResult* found) {
  *function = green::driver_function(name);
  *found = *function != nullptr ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
  return cudaSuccess;
}
cudaError_t cudaStreamBeginCapture(cudaStream_t, cudaStreamCaptureMode) {
  return cudaErrorNotSupported;
}
cudaError_t cudaStreamEndCapture(cudaStream_t, cudaGraph_t*) {
  return cudaErrorNotSupported;
}
cudaError_t cudaGraphGetNodes(cudaGraph_t, cudaGraphNode_t*, std::size_t*) {
  return cudaErrorNotSupported;
}
cudaError_t cudaGraphNodeGetType(cudaGraphNode_t, cudaGraphNodeType*) {
  return cudaErrorNotSupported;
}
cudaError_t cudaGraphDestroy(cudaGraph_t) {
  return cudaErrorNotSupported;
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  *milliseconds = static_cast<float>((end->moment->time - start->moment->time) * 1e3);
  return cudaSuccess;
}
