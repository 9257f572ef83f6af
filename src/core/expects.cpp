// SPDX-License-Identifier: BSD-3-Clause
#include "core/expects.hpp"

#include <cstdio>
#include <cstdlib>

namespace speedwell {

// The program is wrong and must not go on, so this prints by itself; app/ prints all other text.
void broken_precondition(const char* condition, const char* file, int line) noexcept {
  std::fprintf(stderr, "%s:%d: broken precondition: %s\n", file, line, condition);
  std::abort();
}

}  // namespace speedwell
