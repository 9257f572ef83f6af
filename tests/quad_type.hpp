// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Arithmetic of 113 bits (IEEE 754's binary128), as this processor's compiler has it.
#pragma once

#include <limits>

namespace speedwell::test {

#ifdef __SIZEOF_FLOAT128__
using Quad = __float128;
#else
using Quad = long double;  // of Arm's 64-bit processors, among others
static_assert(std::numeric_limits<Quad>::digits == 113);
#endif

inline Quad magnitude(Quad value) {
  return value < 0 ? -value : value;
}

}  // namespace speedwell::test
