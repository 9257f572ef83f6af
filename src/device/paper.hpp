// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// What a device says of itself that takes time and computes nothing.
#pragma once

#include <string>

namespace lupine {

/// What a device says of itself that takes time and computes nothing: that of a simulated machine
/// (docs/prediction.md).
struct Paper {
  std::string machine;     ///< name of the machine
  std::string validation;  ///< where predictions for it were compared with runs, in words
  int corrections = 3;     ///< of the refinement, which has no errors to decide by
};

}  // namespace lupine
