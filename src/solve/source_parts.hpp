// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Helpers that several sources share.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "solve/source.hpp"

namespace lupine {

/// @throws UsageError unless n >= 1
void require_order(std::int64_t n);
/// @throws UsageError unless count >= 1
void require_count(std::int64_t count);

/// "1 column", "2 columns"
std::string columns_text(std::int64_t count);

/// n rows divided among all ranks: each rank has one contiguous range.
struct RowShares {
  RowShares(std::int64_t n, const Communicator& all);

  Distribution mine;
  std::vector<std::int64_t> counts;  ///< rows of each rank
};

/// Right-hand sides whose solutions are stored on every rank: x is n x max(count(), 1),
/// column-major.
class SolvedEverywhere : public RightHandSideSource {
 public:
  void prepare(const ProcessGrid& grid, std::int64_t n, std::vector<double>& x) const override;
  void put(const ProcessGrid& grid, std::int64_t k, std::span<const double> solution,
           std::vector<double>& x) const override;
};

/// Right-hand sides whose solutions are stored on rank `root` alone: x is n x max(count(), 1)
/// there, column-major, and empty on the other ranks.
class SolvedOnRank : public RightHandSideSource {
 public:
  explicit SolvedOnRank(int root) : root_(root) {}
  void prepare(const ProcessGrid& grid, std::int64_t n, std::vector<double>& x) const override;
  void put(const ProcessGrid& grid, std::int64_t k, std::span<const double> solution,
           std::vector<double>& x) const override;

 private:
  int root_;
};

}  // namespace lupine
