// SPDX-License-Identifier: BSD-3-Clause
#include "core/clock.hpp"

#include <chrono>

namespace speedwell {

double SteadyClock::now() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace speedwell
