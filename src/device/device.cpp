#include "device/device.hpp"

#include <fmt/format.h>

#include <utility>

#include <lupine/error.hpp>

#include "device/out_of_memory.hpp"

namespace lupine {

Fault out_of_memory(std::int64_t bytes, std::string_view words) {
  return Fault(
      fmt::format("out of memory: {:.3g} GiB {}", static_cast<double>(bytes) / 0x1p30, words));
}

Buffer::Buffer(void* data, std::int64_t bytes, Release release)
    : data_(data), bytes_(bytes), release_(std::move(release)) {}

Buffer::Buffer(Buffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)),
      release_(std::move(other.release_)) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  std::swap(release_, other.release_);
  return *this;
}

Buffer::~Buffer() {
  if (data_) release_(data_);
}

std::unique_ptr<PeerGroup> Device::join_peers(std::span<const std::byte>, int, int) {
  throw Fault("this device sends to no other without its host");
}

}  // namespace lupine
