// SPDX-License-Identifier: BSD-3-Clause
#include "cpu/peak.hpp"

#include "cpu/isa.hpp"

namespace speedwell {

namespace portable {
extern const Peaks peaks;
}
#if defined(SPEEDWELL_X86_64)
namespace avx2 {
extern const Peaks peaks;
}
namespace avx512 {
extern const Peaks peaks;
}
#elif defined(SPEEDWELL_AARCH64)
namespace neon {
extern const Peaks peaks;
}
namespace sve256 {
extern const Peaks peaks;
}
namespace sve512 {
extern const Peaks peaks;
}
#endif
#ifdef SPEEDWELL_AVX512_BF16
namespace avx512 {
extern const RegisterLoop bf16;
}
#endif

const Peaks& peaks() {
#if defined(SPEEDWELL_X86_64)
  if (cpu_isa() >= CpuIsa::avx512) return avx512::peaks;
  if (cpu_isa() >= CpuIsa::avx2) return avx2::peaks;
#elif defined(SPEEDWELL_AARCH64)
  if (cpu_isa() == CpuIsa::sve512) return sve512::peaks;
  if (cpu_isa() == CpuIsa::sve256) return sve256::peaks;
  if (cpu_isa() == CpuIsa::neon) return neon::peaks;
#endif
  return portable::peaks;
}

RegisterLoop bf16_peak() {
#ifdef SPEEDWELL_AVX512_BF16
  if (cpu_isa() >= CpuIsa::avx512_bf16) return avx512::bf16;
#endif
  return {};
}

}  // namespace speedwell
