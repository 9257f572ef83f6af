// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// A limit of the memory of this process.
#pragma once

#include <sys/resource.h>

#include "setup/memory.hpp"

namespace speedwell::test {

/// Lets this process allocate only so many more bytes, while it exists.
class MemoryLimit {
 public:
  explicit MemoryLimit(double bytes) {
    ::getrlimit(RLIMIT_DATA, &before_);
    constexpr rlim_t large = rlim_t{1} << 50;
    set(large);
    const auto used = large - static_cast<rlim_t>(process_memory_left());
    set(used + static_cast<rlim_t>(bytes));
  }
  ~MemoryLimit() { ::setrlimit(RLIMIT_DATA, &before_); }
  MemoryLimit(const MemoryLimit&) = delete;
  MemoryLimit& operator=(const MemoryLimit&) = delete;

 private:
  void set(rlim_t soft) const {
    const rlimit limit{soft, before_.rlim_max};
    ::setrlimit(RLIMIT_DATA, &limit);
  }
  rlimit before_{};
};

}  // namespace speedwell::test
