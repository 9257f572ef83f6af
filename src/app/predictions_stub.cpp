// SPDX-License-Identifier: BSD-3-Clause
/// In place of predictions.cpp, in a build without SPEEDWELL_PREDICT.
#include <speedwell/error.hpp>
#include <string>

#include "app/predictions.hpp"

namespace speedwell {

std::string_view why_no_predictions() {
  return "this build has no predictions; allowed: one by cmake -DSPEEDWELL_PREDICT=ON, which needs "
         "SimGrid (Debian: libsimgrid-dev)";
}

int run_calibration(const Communicator&, const Arguments&) {
  throw UsageError(std::string(why_no_predictions()));
}

}  // namespace speedwell
