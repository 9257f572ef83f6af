// SPDX-License-Identifier: BSD-3-Clause
#include "cpu/isa.hpp"

#include <speedwell/error.hpp>

#if defined(SPEEDWELL_X86_64)
#include <cpuid.h>
#elif defined(SPEEDWELL_AARCH64)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#endif

#include <array>
#include <cstdlib>
#include <string>

namespace speedwell {

namespace {

constexpr const char* variable = "SPEEDWELL_MAX_CPU_ISA";

struct Named {
  CpuIsa isa;
  std::string_view name;
};
// Those of this architecture, ascending.
constexpr std::array names {
  Named{CpuIsa::portable, "portable"},
#if defined(SPEEDWELL_X86_64)
      Named{CpuIsa::avx2, "avx2"}, Named{CpuIsa::avx512, "avx512"},
      Named{CpuIsa::avx512_bf16, "avx512_bf16"},
#elif defined(SPEEDWELL_AARCH64)
      Named{CpuIsa::neon, "neon"}, Named{CpuIsa::sve256, "sve256"}, Named{CpuIsa::sve512, "sve512"},
#endif
};

#ifdef SPEEDWELL_AARCH64
// The bits of a vector of SVE, as the system has set them for this process; 0 without SVE.
int sve_bits() {
  if ((getauxval(AT_HWCAP) & HWCAP_SVE) == 0) return 0;
  const int found = prctl(PR_SVE_GET_VL);
  return found < 0 ? 0 : 8 * (found & PR_SVE_VL_LEN_MASK);
}
#endif

// Whether this processor has an instruction set of its architecture.
bool is_here(CpuIsa isa) {
  switch (isa) {
#if defined(SPEEDWELL_X86_64)
    case CpuIsa::avx2:
      return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c();
    case CpuIsa::avx512:
      return is_here(CpuIsa::avx2) && __builtin_cpu_supports("avx512f") &&
             __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
             __builtin_cpu_supports("avx512vl");
    case CpuIsa::avx512_bf16:
      return is_here(CpuIsa::avx512) && __builtin_cpu_supports("avx512bf16");
#elif defined(SPEEDWELL_AARCH64)
    case CpuIsa::neon:
      return true;
    case CpuIsa::sve256:
      return sve_bits() == 256;
    case CpuIsa::sve512:
      return sve_bits() == 512;
#endif
    default:
      return isa == CpuIsa::portable;
  }
}

CpuIsa read_allowed() {
  const char* name = std::getenv(variable);
  if (name == nullptr) return names.back().isa;
  std::string all;
  for (const Named& each : names) {
    if (each.name == name) return each.isa;
    all.append(all.empty() ? "" : ", ").append(each.name);
  }
  throw UsageError(std::string(variable) + " '" + name + "'; allowed: " + all);
}

CpuIsa best_allowed() {
  CpuIsa best = CpuIsa::portable;
  for (const Named& each : names)
    if (each.isa <= allowed_cpu_isa() && is_here(each.isa)) best = each.isa;
  return best;
}

}  // namespace

bool has_f16c() {
#ifdef SPEEDWELL_X86_64
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  return __builtin_cpu_supports("avx") && __get_cpuid(1, &a, &b, &c, &d) != 0 &&
         (c & bit_F16C) != 0;
#else
  return false;
#endif
}

CpuIsa allowed_cpu_isa() {
  static const CpuIsa isa = read_allowed();
  return isa;
}

CpuIsa cpu_isa() {
  static const CpuIsa isa = best_allowed();
  return isa;
}

}  // namespace speedwell
