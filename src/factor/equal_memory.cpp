// SPDX-License-Identifier: BSD-3-Clause
#include <new>

#include "factor/equal_vector.hpp"

namespace speedwell {

void* EqualMemory::take(std::size_t bytes) {
  return ::operator new(bytes);
}

void EqualMemory::give_back(void* block, std::size_t) noexcept {
  ::operator delete(block);
}

}  // namespace speedwell
