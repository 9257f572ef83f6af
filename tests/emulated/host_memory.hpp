// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Measures how much host memory some work takes: memory from operator new and the emulation's
/// pinned memory, but not the emulated memory of GPUs.
#pragma once

#include <cstddef>
#include <functional>

namespace speedwell::test {

/// The largest number of bytes that were allocated at once while work() ran, beyond those before.
std::size_t host_memory_of(const std::function<void()>& work);

}  // namespace speedwell::test
