// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// An allocator of vectors whose memory is not the heap's alone.
#pragma once

#include <cstddef>

namespace speedwell {

/// Takes memory by Memory::take(bytes), and gives it back by Memory::give_back(block, bytes).
template <class T, class Memory>
struct Allocator {
  using value_type = T;
  Allocator() = default;
  template <class U>
  explicit Allocator(const Allocator<U, Memory>&) {}
  T* allocate(std::size_t n) { return static_cast<T*>(Memory::take(n * sizeof(T))); }
  void deallocate(T* p, std::size_t n) noexcept { Memory::give_back(p, n * sizeof(T)); }
  bool operator==(const Allocator&) const { return true; }
};

}  // namespace speedwell
