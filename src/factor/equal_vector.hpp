// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Long vectors that every rank has alike.
#pragma once

#include <cstddef>
#include <vector>

namespace lupine {

/// The memory of EqualVectors. On paper (paper/host.cpp) all simulated ranks, which live in one
/// process, have that of each vector in common.
struct EqualMemory {
  static void* take(std::size_t bytes);
  static void give_back(void* block) noexcept;
};

/// The allocator of an EqualVector.
template <class T>
struct EqualAllocator {
  using value_type = T;
  EqualAllocator() = default;
  template <class U>
  explicit EqualAllocator(const EqualAllocator<U>&) {}
  T* allocate(std::size_t n) { return static_cast<T*>(EqualMemory::take(n * sizeof(T))); }
  void deallocate(T* p, std::size_t) noexcept { EqualMemory::give_back(p); }
  bool operator==(const EqualAllocator&) const { return true; }
};

/// A vector of the same length on every rank, to whose entries every rank assigns the same values
/// after all ranks have made theirs. All ranks make such vectors in the same order.
template <class T>
using EqualVector = std::vector<T, EqualAllocator<T>>;

}  // namespace lupine
