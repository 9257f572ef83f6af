// SPDX-License-Identifier: BSD-3-Clause
#include "cpu/peak.hpp"

#include "cpu/isa.hpp"

namespace lupine {

namespace portable {
extern const Peaks peaks;
}
#ifdef LUPINE_X86_64
namespace avx2 {
extern const Peaks peaks;
}
namespace avx512 {
extern const Peaks peaks;
}
#endif
#ifdef LUPINE_AVX512_BF16
namespace avx512 {
extern const RegisterLoop bf16;
}
#endif

const Peaks& peaks() {
#ifdef LUPINE_X86_64
  if (cpu_isa() >= CpuIsa::avx512) return avx512::peaks;
  if (cpu_isa() >= CpuIsa::avx2) return avx2::peaks;
#endif
  return portable::peaks;
}

RegisterLoop bf16_peak() {
#ifdef LUPINE_AVX512_BF16
  if (cpu_isa() >= CpuIsa::avx512_bf16) return avx512::bf16;
#endif
  return {};
}

}  // namespace lupine
