// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// What a device says of itself that takes time and computes nothing.
#pragma once

#include <speedwell/options.hpp>

#include <map>
#include <string>

namespace speedwell {

/// What a device says of itself that takes time and computes nothing: that of a simulated machine
/// (docs/prediction.md).
struct Paper {
  std::string machine;     ///< name of the machine
  std::string validation;  ///< where predictions for it were compared with runs, in words
  int corrections = 3;     ///< of the refinement, which has no errors to decide by
  std::string numbers{};   ///< where those of the machine's file are from: "1 measured, 37 assumed"
  /// Where the rate of products is from, in a word of the machine's file: "measured", "assumed".
  std::map<Precision, std::string> rates{};
};

}  // namespace speedwell
