// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Vectors of n entries over the grid.
#pragma once

#include <span>
#include <vector>

#include "comm/process_grid.hpp"
#include "grid/distribution.hpp"

namespace lupine {

/// A rank's entries of a vector.
using Vector = std::vector<double>;

/// Which entries a rank holds: those of its rows, alike in a process row (b, r), or those of its
/// columns, alike in a process column (x, d).
enum class Layout { rows, columns };

/// What needs the entries of all ranks. Collective; the results are equal on every rank to the last
/// bit.
class VectorSpace {
 public:
  VectorSpace(const ProcessGrid& grid, Layout layout) : grid_(&grid), layout_(layout) {}

  /// Inner products with v.
  Vector dots(std::span<const Vector> basis, const Vector& v) const;
  /// The 2-norm.
  double norm(const Vector& v) const;
  /// All entries on every rank. @param mine how they are distributed, as `layout` says
  Vector gather(const Distribution& mine, const Vector& v) const;

 private:
  /// The ranks that hold the other entries, and those that hold the same ones.
  const Communicator& others() const;
  const Communicator& alike() const;

  const ProcessGrid* grid_;
  Layout layout_;
};

/// The largest magnitude; infinity if there is a NaN, 0 of nothing.
double largest(std::span<const double> v);

/// The entries of a whole vector that are this rank's.
Vector local_part(const Distribution& mine, std::span<const double> whole);

}  // namespace lupine
