// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Where the panel and the trailing matrix of step k of the factorization lie on a rank. Pure.
///
/// A step eliminates the columns [begin, end), which lie in one block: all columns of the block, or
/// a part of them where memory allows only narrower panels. The block decides which ranks own them.
#pragma once

#include <cstdint>

#include "core/index.hpp"
#include "grid/distribution.hpp"

namespace speedwell {

/// One rank's view of a step: who owns its rows and columns [begin, end), and where the panel and
/// the trailing matrix begin in the rank's part.
struct Step {
  std::int64_t index = 0;         ///< k
  GlobalIndex begin{0};           ///< first column that the step eliminates
  GlobalIndex end{0};             ///< one past its last column
  int owner_row = 0;              ///< process row that holds the rows [begin, end)
  int owner_column = 0;           ///< process column that holds the columns [begin, end)
  bool in_row = false;            ///< this rank is in owner_row
  bool in_column = false;         ///< this rank is in owner_column
  LocalIndex row{0};              ///< first local row whose global index is >= begin
  LocalIndex column{0};           ///< first local column whose global index is >= begin
  LocalIndex trailing_row{0};     ///< first local row whose global index is >= end
  LocalIndex trailing_column{0};  ///< first local column whose global index is >= end

  std::int64_t width() const { return end - begin; }
  bool owns_diagonal() const { return in_row && in_column; }
};

/// The steps of a factorization, in order, as this rank sees them.
class StepSequence {
 public:
  /// @param width most columns of a step, brought to 1 ... rows.block(). A step lies in one block.
  StepSequence(const Distribution& rows, const Distribution& columns, std::int64_t width);

  std::int64_t count() const { return count_; }
  /// Step k, for 0 <= k < count().
  Step operator[](std::int64_t k) const;

 private:
  Distribution rows_;
  Distribution columns_;
  std::int64_t width_;
  std::int64_t steps_per_block_;
  std::int64_t count_;
};

}  // namespace speedwell
