// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Long vectors that every rank has alike.
#pragma once

#include <cstddef>
#include <vector>

#include "core/allocator.hpp"

namespace speedwell {

/// The memory of EqualVectors. In a simulation (paper/host.cpp) all simulated ranks, which live in
/// one process, have that of each vector in common.
struct EqualMemory {
  static void* take(std::size_t bytes);
  static void give_back(void* block, std::size_t bytes) noexcept;
};

/// A vector of the same length on every rank, to whose entries every rank assigns the same values
/// after all ranks have made theirs. All ranks make such vectors in the same order.
template <class T>
using EqualVector = std::vector<T, Allocator<T, EqualMemory>>;

}  // namespace speedwell
