// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Passes over memory by all threads of this process, whose rates are upper bounds of others.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "core/clock.hpp"
#include "device/buffer.hpp"

namespace speedwell {

/// Calls work(part) on each thread, with a part of `words` for each. All parts have the same size;
/// the remainder of words.size() / threads is left out.
void on_parts(std::span<std::uint64_t> words, int threads,
              const std::function<void(std::span<std::uint64_t>)>& work);

/// Bytes that one rank's pass over memory covers. All ranks of a node together cover four times its
/// caches, at least 64 MiB; a rank takes at most a quarter of its free memory, but at least 1 MiB.
/// @throws Fault if the free memory cannot be read
std::int64_t memory_pass_bytes(int node_ranks);

/// How a pass uses memory: it reads all bytes, or computes STREAM's triad a <- b + s c, which
/// counts b and c as read once and a as written once.
enum class MemoryPass { read, triad };

/// Memory of this process for passes of all threads.
class HostMemory {
 public:
  /// @throws Fault "out of memory: ..."
  HostMemory(std::int64_t bytes, int threads);
  void pass(MemoryPass pass);

 private:
  Buffer memory_;
  int threads_;
};

/// Bytes a second of all threads.
/// @param bytes allocated for the measurement; should be much more than the caches hold
/// @param seconds least time of the measurement, of which the fastest pass counts
/// @throws Fault "out of memory: ..."
double memory_rate(MemoryPass pass, std::int64_t bytes, int threads, double seconds,
                   const Clock& clock);

}  // namespace speedwell
