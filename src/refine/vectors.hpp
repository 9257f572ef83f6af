// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Vectors of n FP64 entries, distributed over the process grid.
#pragma once

#include <span>
#include <vector>

#include "comm/process_grid.hpp"
#include "grid/distribution.hpp"

namespace lupine {

/// The entries of a vector that one rank holds. A "whole" vector has all n entries.
using Vector = std::vector<double>;

/// How a vector is distributed.
/// - rows ("along rows"; b, r): a rank holds the entries of its local rows of A, so all ranks of a
///   process row hold the same entries.
/// - columns ("along columns"; x, d): a rank holds the entries of its local columns of A, so all
///   ranks of a process column hold the same entries.
enum class Layout { rows, columns };

/// Operations that need the entries of all ranks. All members are collective, and their results are
/// equal on every rank to the last bit.
class VectorSpace {
 public:
  VectorSpace(const ProcessGrid& grid, Layout layout) : grid_(&grid), layout_(layout) {}

  /// The inner product of v with each vector of the basis.
  Vector dots(std::span<const Vector> basis, const Vector& v) const;
  /// ||v||_2.
  double norm(const Vector& v) const;
  /// The whole vector, on every rank. @param mine the distribution of v: that of the rows of A with
  /// Layout::rows, that of its columns with Layout::columns
  Vector gather(const Distribution& mine, const Vector& v) const;

 private:
  /// The ranks that together hold all entries, each entry once.
  const Communicator& others() const;
  /// The ranks that hold the same entries as this rank.
  const Communicator& alike() const;

  const ProcessGrid* grid_;
  Layout layout_;
};

/// max_i |v_i|. Infinity if v has a NaN; 0 if v is empty.
double largest(std::span<const double> v);

/// This rank's entries of a whole vector.
Vector local_part(const Distribution& mine, std::span<const double> whole);

}  // namespace lupine
