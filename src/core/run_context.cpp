// SPDX-License-Identifier: BSD-3-Clause
#include "core/run_context.hpp"

namespace speedwell {

const RunContext& RunContext::none() {
  static const SteadyClock clock;
  static const RunContext context(clock);
  return context;
}

}  // namespace speedwell
