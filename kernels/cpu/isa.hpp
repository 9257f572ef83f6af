// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Which of the instruction sets that loops are compiled for is used.
#pragma once

#include <array>
#include <string_view>

namespace lupine {

/// Each has all that the ones before it have. avx512: F, BW, DQ and VL.
enum class CpuIsa { portable, avx2, avx512, avx512_bf16 };
constexpr std::array<std::string_view, 4> cpu_isa_names{"portable", "avx2", "avx512",
                                                        "avx512_bf16"};

/// What LUPINE_MAX_CPU_ISA allows, by the names above; everything where it is not set. As
/// ONEDNN_MAX_CPU_ISA and OPENBLAS_CORETYPE do in those libraries, it makes a processor behave as
/// an older one: for tests, and to repeat what another machine computes.
/// @throws UsageError for other names
CpuIsa allowed_cpu_isa();

/// The best that this processor has, and that is allowed.
CpuIsa cpu_isa();

}  // namespace lupine
