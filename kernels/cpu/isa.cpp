// SPDX-License-Identifier: BSD-3-Clause
#include "cpu/isa.hpp"

#include <lupine/error.hpp>

#ifdef LUPINE_X86_64
#include <cpuid.h>
#endif

#include <algorithm>
#include <cstdlib>
#include <string>

namespace lupine {

namespace {

constexpr const char* variable = "LUPINE_MAX_CPU_ISA";

CpuIsa best_of_processor() {
#ifdef LUPINE_X86_64
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c();
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  if (avx2 && avx512)
    return __builtin_cpu_supports("avx512bf16") ? CpuIsa::avx512_bf16 : CpuIsa::avx512;
  if (avx2) return CpuIsa::avx2;
#endif
  return CpuIsa::portable;
}

CpuIsa read_allowed() {
  const char* name = std::getenv(variable);
  if (name == nullptr) return CpuIsa::avx512_bf16;
  const auto* const found = std::find(cpu_isa_names.begin(), cpu_isa_names.end(), name);
  if (found != cpu_isa_names.end()) return CpuIsa(found - cpu_isa_names.begin());
  std::string names;
  for (const std::string_view each : cpu_isa_names)
    names.append(names.empty() ? "" : ", ").append(each);
  throw UsageError(std::string(variable) + " '" + name + "'; allowed: " + names);
}

}  // namespace

bool has_f16c() {
#ifdef LUPINE_X86_64
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
  static const CpuIsa isa = std::min(allowed_cpu_isa(), best_of_processor());
  return isa;
}

}  // namespace lupine
