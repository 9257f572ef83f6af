// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// What one thread can do at best: loops that wait for nothing but the arithmetic, or nothing but
/// memory. Compiled once for each instruction set, as loops.hpp.
#pragma once

#include <cstdint>

namespace lupine {

/// Sums that stay in registers: `steps` times as many operations as a step has. The result depends
/// on all of them.
struct RegisterLoop {
  std::int64_t operations_a_step = 0;  ///< a multiplication and an addition are two; 0: none such
  double (*run)(std::int64_t steps) = nullptr;
};

struct Peaks {
  RegisterLoop fp64;
  RegisterLoop fp32;
  /// Numbers of the random stream that a step of sum_of_stream makes.
  std::int64_t elements_a_step = 0;
  /// Their sum: nothing leaves the registers.
  double (*sum_of_stream)(std::uint64_t seed, std::int64_t steps) = nullptr;
  std::uint64_t (*sum_of_words)(const std::uint64_t* data, std::int64_t count) = nullptr;
  /// a <- b + s c, STREAM's triad.
  void (*triad)(const double* b, const double* c, double s, double* a,
                std::int64_t count) = nullptr;
};

/// The copy for the best instruction set of this processor.
const Peaks& peaks();

/// Products of BF16 pairs summed in FP32, by AVX512_BF16 (vdpbf16ps); no operations where the
/// processor has it not.
RegisterLoop bf16_peak();

}  // namespace lupine
