// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <new>
#include <utility>
#include <vector>

#include "refine/vectors.hpp"

namespace speedwell {

namespace {

// Blocks of memory that may be used again, by their bytes, and the ReuseVectors that live.
struct Spare {
  int users = 0;
  std::vector<std::pair<std::size_t, void*>> blocks;
};

Spare& spare() {
  thread_local Spare of_thread;
  return of_thread;
}

}  // namespace

ReuseVectors::ReuseVectors() {
  ++spare().users;
}

ReuseVectors::~ReuseVectors() {
  if (--spare().users > 0) return;
  for (const auto& [bytes, block] : spare().blocks) ::operator delete(block);
  spare().blocks.clear();
}

void* ReuseVectors::take(std::size_t bytes) {
  auto& blocks = spare().blocks;
  const auto fits = [bytes](const auto& block) { return block.first == bytes; };
  const auto found = std::ranges::find_if(blocks, fits);
  if (found == blocks.end()) return ::operator new(bytes);
  void* block = found->second;
  blocks.erase(found);
  return block;
}

void ReuseVectors::give_back(void* block, std::size_t bytes) noexcept {
  try {
    if (spare().users > 0) return spare().blocks.emplace_back(bytes, block), void();
  } catch (const std::bad_alloc&) {
    // then it is not kept
  }
  ::operator delete(block);
}

}  // namespace speedwell
