// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Block-cyclic indices and walks along a row of A, for kernels. Host and device code. For host
/// code alone, grid/distribution.hpp has the same conversions, and a table of them.
#pragma once

#include <cstdint>

#include "element/element.hpp"
#include "element/matrix_spec.hpp"

namespace speedwell {

/// `processes` processes get blocks of `block` indices in turn, beginning with process 0.
/// Conversions are those of process `me`.
struct Cyclic {
  std::int64_t block = 1;
  std::int64_t processes = 1;
  std::int64_t me = 0;

  SPEEDWELL_ELEMENT constexpr std::int64_t global(std::int64_t local) const {
    return (local / block * processes + me) * block + local % block;
  }
  SPEEDWELL_ELEMENT constexpr bool mine(std::int64_t global) const {
    return global / block % processes == me;
  }
  /// @pre mine(global)
  SPEEDWELL_ELEMENT constexpr std::int64_t local(std::int64_t global) const {
    SPEEDWELL_ELEMENT_EXPECTS(mine(global));
    return global / (block * processes) * block + global % block;
  }
};

/// Steps of the random stream for walks over a process's columns; the same for all rows.
struct ColumnSteps {
  Cyclic columns;
  Affine right;  ///< from a column to the next one
  Affine skip;   ///< over the blocks of the other processes
};

inline ColumnSteps column_steps(const MatrixSpec& spec, const Cyclic& columns) {
  const auto stride = static_cast<std::uint64_t>(spec.stride);
  const auto others = static_cast<std::uint64_t>((columns.processes - 1) * columns.block);
  return {columns, jump(stride), jump(stride * others)};
}

/// Walks along row i of A over a process's columns, in their local order. A step to the next column
/// costs one multiplication in the random stream.
class RowWalk {
 public:
  SPEEDWELL_ELEMENT RowWalk(const MatrixSpec& spec, const ColumnSteps& steps, std::int64_t i,
                            std::int64_t local_column)
      : i_(i),
        j_(steps.columns.global(local_column)),
        left_(steps.columns.block - local_column % steps.columns.block),
        state_(spec.random() ? spec.state(i, j_) : 0) {}

  /// Calls use(global column, regular(i, column)) for the next `count` columns.
  /// @tparam random spec.random(), as a constant for the compiler
  template <bool random, class Use>
  SPEEDWELL_ELEMENT void walk(const MatrixSpec& spec, const ColumnSteps& steps, std::int64_t count,
                              Use use) {
    while (count > 0) {
      const std::int64_t run = count < left_ ? count : left_;
      std::uint64_t state = state_;
      std::int64_t j = j_;
      const auto step = [&] {
        use(j, random ? fused_uniform(state) : spec.structured(i_, j));
        if (random) state = steps.right(state);
        ++j;
      };
      std::int64_t done = 0;
      for (; run - done >= unrolled; done += unrolled)
        for (int k = 0; k < unrolled; ++k) step();
      for (; done < run; ++done) step();
      state_ = state;
      j_ += run;
      count -= run;
      left_ -= run;
      if (left_ == 0) cross(steps);
    }
  }

 private:
  static constexpr int unrolled = 8;  // columns between two tests for a block's end

  SPEEDWELL_ELEMENT void cross(const ColumnSteps& steps) {
    left_ = steps.columns.block;
    j_ += (steps.columns.processes - 1) * steps.columns.block;
    state_ = steps.skip(state_);
  }

  std::int64_t i_;
  std::int64_t j_;
  std::int64_t left_;  // columns that are left in this block
  std::uint64_t state_;
};

}  // namespace speedwell
