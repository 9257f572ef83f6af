#include "cpu/peak.hpp"

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
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq")) return avx512::peaks;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return avx2::peaks;
#endif
  return portable::peaks;
}

RegisterLoop bf16_peak() {
#ifdef LUPINE_AVX512_BF16
  if (__builtin_cpu_supports("avx512bf16")) return avx512::bf16;
#endif
  return {};
}

}  // namespace lupine
