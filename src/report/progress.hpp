// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Progress of a factorization as lines of text.
#pragma once

#include <lupine/benchmark.hpp>

#include <optional>
#include <string>

namespace lupine {

/// Makes a line of a report of progress, or nothing if the last line is less than a second old.
class ProgressLines {
 public:
  std::optional<std::string> line(const Progress& progress);

 private:
  double last_seconds_ = 0;
  double last_flops_ = 0;
};

}  // namespace lupine
