// SPDX-License-Identifier: BSD-3-Clause
#include "cpu/loops.hpp"

#include "cpu/isa.hpp"

namespace lupine {

namespace portable {
extern const Loops table;
}
#ifdef LUPINE_X86_64
namespace avx2 {
extern const Loops table;
}
namespace avx512 {
extern const Loops table;
}
#endif

const Loops& loops() {
#ifdef LUPINE_X86_64
  if (cpu_isa() >= CpuIsa::avx512) return avx512::table;
  if (cpu_isa() >= CpuIsa::avx2) return avx2::table;
#endif
  return portable::table;
}

}  // namespace lupine
