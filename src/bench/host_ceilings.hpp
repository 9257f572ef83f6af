// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// What this process's part of a CPU allows at best: rates of arithmetic in registers and of
/// memory, of all threads together.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "core/clock.hpp"
#include "core/scalar.hpp"

namespace lupine {

/// Multiplications and additions a second, both counted, on numbers that stay in registers.
/// @param precision fp64, fp32, or bf16 (products of pairs, summed in FP32)
/// @param seconds that it takes at least; the fastest pass counts
/// @return 0 where the processor has no such instructions
double register_rate(Precision precision, int threads, double seconds, const Clock& clock);

/// Calls work(part) on each of the threads, with its own part of `words`. What does not divide is
/// left out.
void on_parts(std::span<std::uint64_t> words, int threads,
              const std::function<void(std::span<std::uint64_t>)>& work);

/// What memory is passed over for: read alone, or STREAM's triad, a <- b + s c, of which, as there,
/// two are counted as read and one as written.
enum class MemoryPass { read, triad };

/// Bytes a second of all threads.
/// @param bytes of memory that it takes, and gives back; ought to exceed the caches by far
/// @param seconds that it takes at least; the fastest pass counts
/// @throws Fault "out of memory: ..."
double memory_rate(MemoryPass pass, std::int64_t bytes, int threads, double seconds,
                   const Clock& clock);

}  // namespace lupine
