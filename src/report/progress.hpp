// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Progress of a factorization as lines of text.
#pragma once

#include <speedwell/benchmark_result.hpp>
#include <speedwell/progress.hpp>

#include <optional>
#include <string>

namespace speedwell {

/// Turns reports of progress into lines of text, at most one a second.
class ProgressLines {
 public:
  /// The line for this report; nothing less than a second after the last line or the begin.
  std::optional<std::string> line(const Progress& progress);

 private:
  double last_seconds_ = 0;
  double last_flops_ = 0;
};

}  // namespace speedwell
