// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The small files in which Linux shows its sensors, below /sys and /proc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "sensors/sensed.hpp"

namespace speedwell {

/// Files of a tree. Every path is absolute, and stands behind the root.
class SystemFiles {
 public:
  /// @param root a folder in the place of "/", as tests have it
  explicit SystemFiles(std::string root = "") : root_(std::move(root)) {}

  /// The file without white space at its end; at most its first `most` bytes.
  Sensed<std::string> text(const std::string& path, std::size_t most = 65536) const;
  /// The whole number at the beginning of the file. A unit may follow, behind a space.
  Sensed<std::uint64_t> number(const std::string& path) const;
  /// The names in a folder, in order; none where there is no such folder.
  std::vector<std::string> names(const std::string& folder) const;

 private:
  std::string root_;
};

}  // namespace speedwell
