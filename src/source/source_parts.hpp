// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Helpers that several sources share.
#pragma once

#include <complex>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "source/source.hpp"

namespace speedwell {

/// @throws UsageError unless n >= 1
void require_order(std::int64_t n);
/// @throws UsageError unless count >= 1
void require_count(std::int64_t count);

/// n rows divided among all ranks: each rank has one contiguous range.
struct RowShares {
  RowShares(std::int64_t n, const Communicator& all);

  Distribution mine;
  std::vector<std::int64_t> counts;  ///< rows of each rank
};

/// Right-hand sides whose solutions are stored on rank `root` alone, or on every rank: x is
/// n x max(count(), 1) there, column-major, and empty on the other ranks.
class SolvedOnRank : public RightHandSideSource {
 public:
  /// @param root nothing: every rank
  explicit SolvedOnRank(std::optional<int> root) : root_(root) {}
  void prepare(const ProcessGrid& grid, std::int64_t n, std::vector<double>& x) const override;
  void put(const ProcessGrid& grid, std::int64_t k, std::span<const double> solution,
           std::vector<double>& x) const override;
  std::span<const double> stored(const ProcessGrid& grid, std::int64_t k,
                                 const std::vector<double>& x) const override;

 private:
  bool has_x(const ProcessGrid& grid) const { return !root_ || grid.all().rank() == *root_; }

  std::optional<int> root_;
};

class SolvedEverywhere : public SolvedOnRank {
 public:
  SolvedEverywhere() : SolvedOnRank(std::nullopt) {}
};

/// b from an array that is the same on every rank: that of rank 0 is read. Every rank gets all of
/// x: n x count, column-major. @param ldb leading dimension of b, at least n
RightHandSide on_every_rank(std::int64_t count, const double* b, std::int64_t ldb);
RightHandSide on_every_rank(std::int64_t count, const std::complex<double>* b, std::int64_t ldb);

}  // namespace speedwell
