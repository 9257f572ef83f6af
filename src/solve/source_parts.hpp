// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// What several sources have in common.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "solve/source.hpp"

namespace lupine {

/// @throws UsageError unless a matrix may have this order
void require_order(std::int64_t n);
/// @throws UsageError unless b may have this many columns
void require_count(std::int64_t count);

/// Rows dealt to all ranks, one run each.
struct RowShares {
  RowShares(std::int64_t n, const Communicator& all);

  Distribution mine;
  std::vector<std::int64_t> counts;  ///< by rank
};

/// Right-hand sides whose solutions all lie on every rank.
class SolvedEverywhere : public RightHandSideSource {
 public:
  void prepare(const ProcessGrid& grid, std::int64_t n, std::vector<double>& x) const override;
  void put(const ProcessGrid& grid, std::int64_t k, const std::vector<double>& solution,
           std::vector<double>& x) const override;
};

/// Right-hand sides whose solutions all lie on one rank.
class SolvedOnRank : public RightHandSideSource {
 public:
  explicit SolvedOnRank(int root) : root_(root) {}
  void prepare(const ProcessGrid& grid, std::int64_t n, std::vector<double>& x) const override;
  void put(const ProcessGrid& grid, std::int64_t k, const std::vector<double>& solution,
           std::vector<double>& x) const override;

 private:
  int root_;
};

}  // namespace lupine
