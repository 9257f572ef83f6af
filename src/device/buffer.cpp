// SPDX-License-Identifier: BSD-3-Clause
#include "device/buffer.hpp"

#include <utility>

namespace speedwell {

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

}  // namespace speedwell
