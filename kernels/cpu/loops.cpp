#include "cpu/loops.hpp"

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
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
    return avx512::table;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
      __builtin_cpu_supports("f16c"))
    return avx2::table;
#endif
  return portable::table;
}

}  // namespace lupine
