// SPDX-License-Identifier: BSD-3-Clause
#include "cpu/loops.hpp"

#include "cpu/isa.hpp"

namespace speedwell {

namespace portable {
extern const Loops table;
}
#if defined(SPEEDWELL_X86_64)
namespace avx2 {
extern const Loops table;
}
namespace avx512 {
extern const Loops table;
}
#elif defined(SPEEDWELL_AARCH64)
namespace neon {
extern const Loops table;
}
namespace sve256 {
extern const Loops table;
}
namespace sve512 {
extern const Loops table;
}
#endif

const Loops& loops() {
#if defined(SPEEDWELL_X86_64)
  if (cpu_isa() >= CpuIsa::avx512) return avx512::table;
  if (cpu_isa() >= CpuIsa::avx2) return avx2::table;
#elif defined(SPEEDWELL_AARCH64)
  if (cpu_isa() == CpuIsa::sve512) return sve512::table;
  if (cpu_isa() == CpuIsa::sve256) return sve256::table;
  if (cpu_isa() == CpuIsa::neon) return neon::table;
#endif
  return portable::table;
}

}  // namespace speedwell
