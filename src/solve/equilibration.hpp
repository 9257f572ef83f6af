// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Equilibration of a user's matrix: rows and columns are scaled by powers of two. Formulas and
/// sources: docs/numerics.md.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "comm/process_grid.hpp"
#include "device/device.hpp"
#include "refine/system.hpp"
#include "solve/user_matrix.hpp"

namespace speedwell {

/// The exponent e of |value| = f 2^e, 1/2 <= f < 1; nullopt for 0. Any number for an Inf or NaN.
inline std::optional<int> exponent(double value) {
  // frexp() takes several times as long, and every number of many right-hand sides comes here.
  const auto biased = static_cast<int>(std::bit_cast<std::uint64_t>(value) >> 52 & 0x7ff);
  if (biased != 0) return biased - 1022;
  if (value == 0) return std::nullopt;
  int e = 0;
  std::frexp(value, &e);
  return e;
}

/// The largest exponent of the numbers v_i 2^exponents[i] that are not zero; nullopt if all are
/// zero.
std::optional<int> largest_exponent(std::span<const double> v, const std::vector<int>& exponents);

/// What is scaled first: rows and columns are those of the user's matrix.
enum class Scaling { off, rows_first, columns_first };

/// The scales R = diag(2^rows[i]) and C = diag(2^columns[j]) of R A C, as exponents. Every rank has
/// those of all n rows and columns; of a complex A, of the real system's (refine/pairs.hpp), of
/// which two follow each other that are equal. They alone say what the scales are: matrix,
/// right-hand sides, solutions and errors are all scaled by these exponents.
struct Equilibration {
  std::vector<int> rows;
  std::vector<int> columns;
  /// Whether every scale and its inverse, and every product of the unscaled A with vectors C y,
  /// scaled by R, are so far inside of FP64's range that they neither overflow nor lose digits by
  /// underflow.
  bool is_moderate = true;
  /// What was scaled first, of the matrix in memory: Layout::columns where the user's matrix is
  /// scaled by rows first and transposed in memory.
  Layout first = Layout::rows;
  double largest = 1;  ///< the largest magnitude of R A C, to a factor of two; 1 if A is zero

  /// The scales of A, or those of A^T: (R A C)^T = C A^T R.
  Equilibration of(Transpose transpose) const {
    return transpose == Transpose::no
               ? *this
               : Equilibration{columns, rows, is_moderate, other(first), largest};
  }
  /// R <- 2^e R.
  void raise(int e) {
    for (int& row : rows) row += e;
    largest = std::ldexp(largest, e);
  }
  /// Whether any exponent is not zero.
  bool scales() const;
  /// The largest difference of the exponents of two rows or of two columns.
  int spread() const;
  /// This rank's entries of R and C as numbers; empty vectors if scales() is false.
  /// @pre is_moderate
  Scales local(const Distribution& row_part, const Distribution& column_part) const;
};

/// Computes scales for which the largest magnitude of each column of R A C is in [1/2, 1), and that
/// of each row below 1:
///     r_i = 1 / max_j |a_ij|,  c_j = 1 / max_i r_i |a_ij|,
/// where |a| = max(|re a|, |im a|) of complex elements, rounded to powers of two (N. J. Higham, S.
/// Pranesh, M. Zounon, "Squeezing a Matrix into Half Precision, with an Application to Solving
/// Linear Systems", SIAM J. Sci. Comput. 41, 2019); with Scaling::columns_first the roles of rows
/// and columns are exchanged. A largest magnitude that is subnormal, or so small in comparison that
/// no scale reaches it, stays below 1/2: exponents are in
/// [-1024, 1022] for what comes first, and in [0, 2044] for the other. Rows and columns of zeros
/// have the exponent 0. Collective.
/// @param scaling off: A is searched for Inf and NaN, and only where its largest number is near an
///        end of FP64's range all rows get one scale, by which that comes nearer to 1
/// @param checksums where not null: gets Device::checksums_of_columns() of the rank's part: those
///        of a copy as it was made, or else taken in the first pass over A
/// @throws UsageError on every rank if A has an Inf or NaN; its message names the first in column
///         order, or in row order of the user's matrix where a.transposed()
Equilibration equilibrate(const ProcessGrid& grid, Device& device, const UserMatrix& a,
                          Scaling scaling, std::vector<std::uint64_t>* checksums = nullptr);

}  // namespace speedwell
