// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The figures of nodes at an earlier time, with which a check compares them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "check/node_check.hpp"

namespace speedwell {

/// A file of figures, by node. Its nodes have the same processor and the same devices.
class Baseline {
 public:
  /// A figure of one place of a node.
  struct Kept {
    double value = 0;
    double deviation = 0;
  };
  /// The figures of one place, by name.
  using Place = std::map<std::string, Kept>;

  /// An empty one, if there is no such file.
  /// @throws UsageError, one line, if the file cannot be read or is no baseline
  static Baseline read(const std::string& path);

  /// @throws UsageError, one line, if the baseline is of another processor or another device
  void require_same(const MachineFacts& machine, const std::string& processor) const;
  /// Figures that are worse than those of the same node: beyond the limits, where the deviation is
  /// that of the rounds, then or now.
  /// @throws UsageError if a node had another number of ranks
  std::vector<Finding> compare(const NodeCheck& check, const OutlierLimits& limits) const;
  /// Adds the nodes that the file does not have yet, to what other checks have added to it
  /// meanwhile, and replaces it. Returns their number; where it is 0, the file is unchanged.
  /// @throws UsageError that names the path; the old file is then unchanged
  static std::size_t add_to(const std::string& path, const NodeCheck& check,
                            const std::string& processor, const std::string& date);

 private:
  std::size_t add(const NodeCheck& check, const std::string& processor, const std::string& date);
  void write() const;

  struct Node {
    std::string date;  ///< UTC
    std::vector<Place> places{};
  };
  std::string path_;
  std::string processor_;  ///< empty: no node yet
  std::string device_;
  std::map<std::string, Node> nodes_;
};

}  // namespace speedwell
