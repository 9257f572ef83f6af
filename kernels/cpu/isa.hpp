// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The instruction sets for which loops are compiled, and the choice of one at run time.
#pragma once

#include <string_view>

namespace speedwell {

/// Instruction sets. Of those of x86-64, each includes the ones before it; avx512 is F, BW, DQ and
/// VL. Of Arm's 64 bits, sve256 and sve512 include neon: they are SVE with vectors of so many bits,
/// neither more nor fewer.
enum class CpuIsa { portable, avx2, avx512, avx512_bf16, neon, sve256, sve512 };

/// The best instruction set that the environment variable SPEEDWELL_MAX_CPU_ISA allows, by one of
/// the names above that this architecture has; its last one if the variable is not set. The
/// variable makes a processor behave like an older one, for tests and to repeat another machine's
/// results, as ONEDNN_MAX_CPU_ISA and OPENBLAS_CORETYPE do for oneDNN and OpenBLAS.
/// @throws UsageError if the variable has another value
CpuIsa allowed_cpu_isa();

/// The best instruction set that this processor has and allowed_cpu_isa() allows.
CpuIsa cpu_isa();

/// Whether this processor converts FP16 by itself (F16C). clang 14 cannot be asked for it by name.
bool has_f16c();

}  // namespace speedwell
