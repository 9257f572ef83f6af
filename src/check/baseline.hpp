// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The figures of an earlier check, with which a check compares its own.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "check/node_check.hpp"

namespace speedwell {

/// An earlier check, by the JSON that it has written.
class Baseline {
 public:
  /// @throws UsageError, one line, if the file cannot be read or is of no check
  explicit Baseline(std::string path);

  /// @throws UsageError, one line, if the earlier check was of another processor or device
  void require_same(const std::string& device, const std::string& processor) const;
  /// Figures that are worse than those of the same node: beyond the limits, where the deviation is
  /// that of the rounds, then or now. Nodes that were not there then have none.
  /// @throws UsageError if a node had another number of ranks or GPUs
  std::vector<Finding> compare(const NodeCheck& check, const OutlierLimits& limits) const;
  /// "the baseline is 'figures.json' of 2026-11-21T18:00:00Z; it has 3 of 4 nodes"
  std::string text(const NodeCheck& check) const;

 private:
  struct Figure {
    std::vector<double> values, deviations;  // of every place; NaN: not measured there
  };

  std::string path_;
  std::string date_;  // UTC
  std::string device_;
  std::string processor_;
  std::map<std::string, std::vector<std::size_t>> places_;  // by their hosts
  std::map<std::string, Figure> figures_;                   // by their names
};

}  // namespace speedwell
