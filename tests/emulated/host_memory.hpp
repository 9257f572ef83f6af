// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// How much host memory a piece of work takes: that of operator new, and pinned memory of the
/// emulation. GPUs' own memory, which is emulated, does not count.
#pragma once

#include <cstddef>
#include <functional>

namespace lupine::test {

/// Bytes that there were at once while work() ran, beyond those before, at most.
std::size_t host_memory_of(const std::function<void()>& work);

}  // namespace lupine::test
