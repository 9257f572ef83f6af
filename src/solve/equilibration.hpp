// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Scales of rows and columns by powers of two.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "comm/process_grid.hpp"
#include "device/device.hpp"
#include "refine/system.hpp"
#include "solve/user_matrix.hpp"

namespace lupine {

/// e with |value| = f 2^e, 1/2 <= f < 1; nothing for 0.
std::optional<int> exponent(double value);

/// R = diag(2^rows[i]) and C = diag(2^columns[j]): exponents of all n rows and columns, on every
/// rank.
struct Equilibration {
  std::vector<int> rows;
  std::vector<int> columns;

  /// Whether anything is scaled.
  bool scales() const;
  /// The rank's part, as numbers.
  Scales local(const Distribution& row_part, const Distribution& column_part) const;
};

/// Rows, then columns, so that the largest magnitude of each row and column of R A C is in
/// [1/2, 1), or smaller in a row: r_i = 1 / max_j |a_ij|, c_j = 1 / max_i r_i |a_ij| (N. J. Higham,
/// S. Pranesh, M. Zounon, "Squeezing a Matrix into Half Precision, with an Application to Solving
/// Linear Systems", SIAM J. Sci. Comput. 41, 2019), shifted between R and C so that both are FP64
/// numbers. Zero rows and columns stay. |a_ij| c_j never overflows. Collective.
/// @param wanted false: all exponents are zero, and A is only looked through
/// @throws UsageError on every rank where A has an Inf or NaN: names the first
Equilibration equilibrate(const ProcessGrid& grid, Device& device, const UserMatrix& a,
                          bool wanted);

}  // namespace lupine
