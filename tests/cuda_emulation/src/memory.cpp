// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Memory of the devices and pinned memory, between guard zones; copies.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include "emulation.hpp"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(address, size)
#define ASAN_UNPOISON_MEMORY_REGION(address, size)
#endif

namespace speedwell::emulation {
namespace {

using Bytes = unsigned char;

// Memory begins 256 bytes after a multiple of 512: nothing may rely on more than 256.
constexpr std::size_t alignment = 512;
constexpr std::size_t guard = 4096 + 256;
constexpr int garbage = 0xff;  // a NaN in every format
// A larger allocation, such as a workspace of 64 MiB, has it in its first bytes alone: filling all
// of it takes longer than all that a test does.
constexpr std::size_t filled_whole = std::size_t{8} << 20;
constexpr std::size_t filled_of_larger = std::size_t{1} << 19;
constexpr Bytes mark = 0xa5;
constexpr std::size_t too_much = std::size_t{1} << 46;

std::size_t used(int device) {
  std::size_t sum = 0;
  for (const auto& [at, one] : state().allocations) sum += one.device == device ? one.bytes : 0;
  return sum;
}

cudaError_t allocate(void** pointer, std::size_t bytes, int device) {
  if (pointer == nullptr) return cudaErrorInvalidValue;
  *pointer = nullptr;
  if (bytes == 0) return cudaSuccess;
  if (bytes > too_much) return cudaErrorMemoryAllocation;
  void* raw = ::operator new(bytes + 2 * guard, std::align_val_t(alignment), std::nothrow);
  if (raw == nullptr) return cudaErrorMemoryAllocation;
  auto* const at = static_cast<Bytes*>(raw) + guard;
  std::memset(raw, mark, guard);
  std::memset(at, garbage, bytes <= filled_whole ? bytes : filled_of_larger);
  std::memset(at + bytes, mark, guard);
  ASAN_POISON_MEMORY_REGION(raw, guard);
  ASAN_POISON_MEMORY_REGION(at + bytes, guard);
  state().allocations[at] = {bytes, device};
  if (device < 0) {
    state().pinned += bytes;
    state().most_pinned = std::max(state().most_pinned, state().pinned);
  }
  *pointer = at;
  return cudaSuccess;
}

/// Of an allocation at `at`: what is wrong with its guards, or nothing.
const char* damage(const Bytes* at, std::size_t bytes) {
  ASAN_UNPOISON_MEMORY_REGION(at - guard, guard);
  ASAN_UNPOISON_MEMORY_REGION(at + bytes, guard);
  const auto intact = [](Bytes byte) { return byte == mark; };
  const char* found = nullptr;
  if (!std::all_of(at + bytes, at + bytes + guard, intact)) found = "after";
  if (!std::all_of(at - guard, at, intact)) found = "before";
  ASAN_POISON_MEMORY_REGION(at - guard, guard);
  ASAN_POISON_MEMORY_REGION(at + bytes, guard);
  return found;
}

cudaError_t give_back(void* pointer, bool device) {
  if (pointer == nullptr) return cudaSuccess;
  complete(nullptr);
  auto& allocations = state().allocations;
  const auto found = allocations.find(static_cast<Bytes*>(pointer));
  if (found == allocations.end() || (found->second.device >= 0) != device) {
    return cudaErrorInvalidValue;
  }
  auto* const at = static_cast<Bytes*>(pointer);
  const std::size_t bytes = found->second.bytes;
  if (const char* where = damage(at, bytes)) {
    std::fprintf(stderr, "CUDA emulation: something was written %s an allocation of %zu bytes\n",
                 where, bytes);
    std::abort();
  }
  if (!device) state().pinned -= bytes;
  ASAN_UNPOISON_MEMORY_REGION(at - guard, bytes + 2 * guard);
  ::operator delete(at - guard, std::align_val_t(alignment));
  allocations.erase(found);
  return cudaSuccess;
}

enum class Place { device, pinned, pageable, outside };

Place place_of(const void* pointer, std::size_t bytes) {
  const auto& allocations = state().allocations;
  const auto* const address = static_cast<const Bytes*>(pointer);
  auto next = allocations.upper_bound(address);
  if (next == allocations.begin()) return Place::pageable;
  const auto& [start, one] = *std::prev(next);
  const auto offset = static_cast<std::size_t>(address - start);
  if (offset >= one.bytes + guard) return Place::pageable;
  if (offset > one.bytes || bytes > one.bytes - offset) return Place::outside;
  return one.device >= 0 ? Place::device : Place::pinned;
}

struct Copy {
  Bytes* to;
  std::size_t to_pitch;
  const Bytes* from;
  std::size_t from_pitch;
  std::size_t width;
  std::size_t height;

  std::size_t extent(std::size_t pitch) const { return (height - 1) * pitch + width; }
  void operator()() const {
    for (std::size_t row = 0; row < height; ++row) {
      std::memcpy(to + row * to_pitch, from + row * from_pitch, width);
    }
  }
};

bool fits(cudaMemcpyKind kind, Place from, Place to) {
  if (from == Place::outside || to == Place::outside) return false;
  if (kind == cudaMemcpyDefault) return true;
  const bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  return kind >= cudaMemcpyHostToHost && kind <= cudaMemcpyDefault &&
         from_device == (from == Place::device) && to_device == (to == Place::device);
}

/// Memory that is not pinned is read before the call returns, and written too.
cudaError_t copy(Copy what, cudaMemcpyKind kind, CUstream_st* stream) {
  if (!known(stream)) return cudaErrorInvalidResourceHandle;
  if (what.width > what.to_pitch || what.width > what.from_pitch) return cudaErrorInvalidValue;
  if (what.width == 0 || what.height == 0) return cudaSuccess;
  // A negative size, or a product that has overflowed.
  if (what.width > too_much || what.height > too_much / what.to_pitch ||
      what.height > too_much / what.from_pitch) {
    return cudaErrorInvalidValue;
  }
  const Place from = place_of(what.from, what.extent(what.from_pitch));
  const Place to = place_of(what.to, what.extent(what.to_pitch));
  if (!fits(kind, from, to)) return cudaErrorInvalidValue;
  if (from == Place::pageable) {
    auto staged = std::make_shared<std::vector<Bytes>>(what.width * what.height);
    const Copy stage{staged->data(),  what.width, what.from,
                     what.from_pitch, what.width, what.height};
    stage();
    what.from = staged->data();
    what.from_pitch = what.width;
    enqueue(stream, {[what, staged] { what(); }, {}});
  } else {
    enqueue(stream, {what, {}});
  }
  if (to == Place::pageable) complete(stream);
  return cudaSuccess;
}

cudaError_t fill(void* to, int value, std::size_t bytes, CUstream_st* stream) {
  if (!known(stream)) return cudaErrorInvalidResourceHandle;
  if (bytes == 0) return cudaSuccess;
  if (place_of(to, bytes) != Place::device) return cudaErrorInvalidValue;
  enqueue(stream, {[=] { std::memset(to, value, bytes); }, {}});
  return cudaSuccess;
}

}  // namespace

std::size_t most_pinned() {
  const std::lock_guard lock(state().mutex);
  return state().most_pinned;
}

std::size_t damaged_allocations() {
  const std::lock_guard lock(state().mutex);
  std::size_t count = 0;
  for (const auto& [at, one] : state().allocations) {
    count += damage(at, one.bytes) != nullptr ? 1 : 0;
  }
  return count;
}

bool on_device(const void* at, std::size_t bytes) {
  return place_of(at, bytes) == Place::device;
}

bool on_device(const void* at, std::int64_t rows, std::int64_t columns, std::int64_t ld,
               std::size_t element) {
  constexpr auto limit = static_cast<std::int64_t>(too_much);
  if (rows <= 0 || columns <= 0 || ld < rows || ld > limit || columns > limit / ld) return false;
  return on_device(at, static_cast<std::size_t>((columns - 1) * ld + rows) * element);
}

}  // namespace speedwell::emulation

using namespace speedwell::emulation;

// A driver maps no more at once, and may say so as of a bad argument.
constexpr std::size_t most_mapped = std::size_t{1} << 57;

cudaError_t cudaMalloc(void** pointer, std::size_t bytes) {
  return call("cudaMalloc", [&] {
    int device = 0;
    if (const auto error = current_device(device)) return error;
    note_if_messages_wait("cudaMalloc");
    if (bytes > most_mapped) return cudaErrorInvalidValue;
    if (bytes > state().settings.memory - used(device)) return cudaErrorMemoryAllocation;
    return allocate(pointer, bytes, device);
  });
}

cudaError_t cudaFree(void* pointer) {
  return release("cudaFree", [&] {
    note_if_messages_wait("cudaFree");
    return give_back(pointer, true);
  });
}

cudaError_t cudaMallocHost(void** pointer, std::size_t bytes) {
  return call("cudaMallocHost", [&] {
    note_if_messages_wait("cudaMallocHost");
    return bytes > most_mapped ? cudaErrorInvalidValue : allocate(pointer, bytes, -1);
  });
}

cudaError_t cudaFreeHost(void* pointer) {
  return release("cudaFreeHost", [&] { return give_back(pointer, false); });
}

cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  return call("cudaMemGetInfo", [&] {
    int device = 0;
    if (const auto error = current_device(device)) return error;
    *total = state().settings.memory;
    *free = *total - std::min(*total, used(device));
    return cudaSuccess;
  });
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  return call("cudaPointerGetAttributes", [&] {
    if (attributes == nullptr) return cudaErrorInvalidValue;
    *attributes = {cudaMemoryTypeUnregistered, -2, nullptr, const_cast<void*>(pointer)};
    for (const auto& [at, one] : state().allocations) {
      if (pointer < at || pointer >= at + one.bytes) continue;
      const bool pinned = one.device < 0;
      attributes->type = pinned ? cudaMemoryTypeHost : cudaMemoryTypeDevice;
      attributes->device = std::max(one.device, 0);
      attributes->devicePointer = const_cast<void*>(pointer);
      if (!pinned) attributes->hostPointer = nullptr;
    }
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceSynchronize() {
  return call("cudaDeviceSynchronize", [&] {
    complete(nullptr);
    return cudaSuccess;
  });
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  return call("cudaMemcpyAsync", [&] {
    return copy({static_cast<Bytes*>(to), bytes, static_cast<const Bytes*>(from), bytes, bytes, 1},
                kind, stream);
  });
}

cudaError_t cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from,
                              std::size_t from_pitch, std::size_t width, std::size_t height,
                              cudaMemcpyKind kind, cudaStream_t stream) {
  return call("cudaMemcpy2DAsync", [&] {
    return copy({static_cast<Bytes*>(to), to_pitch, static_cast<const Bytes*>(from), from_pitch,
                 width, height},
                kind, stream);
  });
}

cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t stream) {
  return call("cudaMemsetAsync", [&] { return fill(to, value, bytes, stream); });
}
