// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Memory of a device, released by its owner.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

namespace speedwell {

/// Owns a piece of device memory: its destructor calls `release`. Empty by default.
class Buffer {
 public:
  using Release = std::function<void(void*)>;
  Buffer() = default;
  Buffer(void* data, std::int64_t bytes, Release release);
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;
  ~Buffer();

  std::byte* data() const { return static_cast<std::byte*>(data_); }
  std::int64_t bytes() const { return bytes_; }
  template <class T>
  T* as() const {
    return static_cast<T*>(data_);
  }

 private:
  void* data_ = nullptr;
  std::int64_t bytes_ = 0;
  Release release_;
};

}  // namespace speedwell
