// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Loops that measure the highest rates of one thread: those of arithmetic in registers, and those
/// of memory. They are compiled once for each instruction set, as the loops of loops.hpp are.
#pragma once

#include <cstdint>

namespace speedwell {

/// A loop of multiplications and additions in registers.
struct RegisterLoop {
  /// Multiplications and additions in a step; 0: this processor has no such loop.
  std::int64_t operations_a_step = 0;
  /// Runs `steps` steps. The result depends on all operations, so that none can be left out.
  double (*run)(std::int64_t steps) = nullptr;
};

/// All loops of this file, as compiled for one instruction set.
struct Peaks {
  RegisterLoop fp64;
  RegisterLoop fp32;
  /// Numbers of the random stream that a step of sum_of_stream makes.
  std::int64_t elements_a_step = 0;
  /// The sum of elements_a_step * steps numbers of the random stream, all in registers.
  double (*sum_of_stream)(std::uint64_t seed, std::int64_t steps) = nullptr;
  /// The sum of `count` words in memory.
  std::uint64_t (*sum_of_words)(const std::uint64_t* data, std::int64_t count) = nullptr;
  /// a <- b + s c, STREAM's triad.
  void (*triad)(const double* b, const double* c, double s, double* a,
                std::int64_t count) = nullptr;
};

/// The loops for cpu_isa().
const Peaks& peaks();

/// Products of BF16 numbers, summed in FP32 by the instruction vdpbf16ps of AVX512_BF16. No
/// operations without that instruction set.
RegisterLoop bf16_peak();

}  // namespace speedwell
