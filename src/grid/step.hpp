// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// What a rank does in step k of the factorization.
///
/// A step eliminates the columns [begin, end) of one block: all of them, or a part where a block is
/// wider than the panels that memory allows. Which ranks own it is the block's matter alone.
#pragma once

#include <cstdint>

#include "core/index.hpp"
#include "grid/distribution.hpp"

namespace lupine {

/// One rank's share of a step: where the block is, and where what lies behind it begins.
struct Step {
  std::int64_t index = 0;
  GlobalIndex begin{0};
  GlobalIndex end{0};
  int owner_row = 0;     ///< process row that holds the rows [begin, end)
  int owner_column = 0;  ///< process column that holds the columns [begin, end)
  bool in_row = false;
  bool in_column = false;
  LocalIndex row{0};           ///< first local row >= begin
  LocalIndex column{0};        ///< first local column >= begin
  LocalIndex trailing_row{0};  ///< first local row >= end
  LocalIndex trailing_column{0};

  std::int64_t width() const { return end - begin; }
  bool owns_diagonal() const { return in_row && in_column; }
};

/// The steps of a factorization, in order.
class Plan {
 public:
  /// @param width columns of a step at most; no step crosses a block's border
  Plan(const Distribution& rows, const Distribution& columns, std::int64_t width);

  std::int64_t count() const { return count_; }
  Step operator[](std::int64_t k) const;

 private:
  Distribution rows_;
  Distribution columns_;
  std::int64_t width_;
  std::int64_t steps_per_block_;
  std::int64_t count_;
};

}  // namespace lupine
