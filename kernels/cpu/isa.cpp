// SPDX-License-Identifier: BSD-3-Clause
#include "cpu/isa.hpp"

#include <lupine/error.hpp>

#include <algorithm>
#include <cstdlib>
#include <string>

namespace lupine {

namespace {

constexpr const char* variable = "LUPINE_MAX_CPU_ISA";

CpuIsa best_of_processor() {
#ifdef LUPINE_X86_64
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                    __builtin_cpu_supports("f16c");
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

CpuIsa allowed_cpu_isa() {
  static const CpuIsa isa = read_allowed();
  return isa;
}

CpuIsa cpu_isa() {
  static const CpuIsa isa = std::min(allowed_cpu_isa(), best_of_processor());
  return isa;
}

}  // namespace lupine
