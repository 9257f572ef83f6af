// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Vectors of complex numbers as the operations with a complex matrix take them.
///
/// The refinement computes with real vectors. A complex system A z = b of order n is the real one
/// of order 2 n whose unknowns are the real and the imaginary part of each z_j, one after the other
/// ("pairs"); its matrix has the block [re a, -im a; im a, re a] for each a of A. A device holds A
/// as one column of each block: a real matrix H of 2 n rows and n columns. With the vectors in
/// planes, z = (z_re, z_im),
///     A z in pairs = H z_re + i (H z_im),   A^H y in planes = (H^T y, H^T (-i y)),
/// so real products with two vectors for each complex one serve both. All functions return a
/// real vector as it is. Pure.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <utility>

#include "element/two_sum.hpp"

#include "core/scalar.hpp"
#include "refine/vectors.hpp"

namespace speedwell {

/// The numbers of a vector of this many numbers on each side of H: in pairs along its rows, half as
/// many in each plane along its columns.
constexpr std::int64_t plane_size(Field field, std::int64_t numbers) {
  return numbers / parts_of(field);
}

/// Vectors in pairs -> two planes of each.
inline MultiVector in_planes(Field field, MultiVector v) {
  if (field == Field::real) return v;
  MultiVector planes(v.size() / 2, 2 * v.count());
  for (std::int64_t k = 0; k < planes.count(); ++k)
    for (std::size_t i = 0; i < planes[k].size(); ++i)
      planes[k][i] = v[k / 2][2 * i + static_cast<std::size_t>(k % 2)];
  return planes;
}

/// Two planes of each vector -> pairs.
inline MultiVector from_planes(Field field, MultiVector planes) {
  if (field == Field::real) return planes;
  MultiVector v(2 * planes.size(), planes.count() / 2);
  for (std::int64_t k = 0; k < planes.count(); ++k)
    for (std::size_t i = 0; i < planes[k].size(); ++i)
      v[k / 2][2 * i + static_cast<std::size_t>(k % 2)] = planes[k][i];
  return v;
}

/// Each vector v, in pairs, and behind it -i v.
inline MultiVector with_turned(Field field, MultiVector v) {
  if (field == Field::real) return v;
  MultiVector both(v.size(), 2 * v.count());
  for (std::int64_t k = 0; k < v.count(); ++k)
    for (std::size_t i = 0; i < v[k].size(); i += 2) {
      both[2 * k][i] = v[k][i];
      both[2 * k][i + 1] = v[k][i + 1];
      both[2 * k + 1][i] = v[k][i + 1];
      both[2 * k + 1][i + 1] = -v[k][i];
    }
  return both;
}

/// Each vector v, in pairs, and behind it a vector of zeros.
inline MultiVector with_zeros(Field field, MultiVector v) {
  if (field == Field::real) return v;
  MultiVector both(v.size(), 2 * v.count());
  for (std::int64_t k = 0; k < v.count(); ++k) std::ranges::copy(v[k], both[2 * k].begin());
  return both;
}

/// The first of each two vectors.
inline MultiVector firsts(Field field, MultiVector both) {
  if (field == Field::real) return both;
  MultiVector v(both.size(), both.count() / 2);
  for (std::int64_t k = 0; k < v.count(); ++k) std::ranges::copy(both[2 * k], v[k].begin());
  return v;
}

/// p + i q for each two vectors p and q, in pairs.
inline MultiVector combined(Field field, MultiVector both) {
  if (field == Field::real) return both;
  MultiVector v = firsts(field, both);
  for (std::int64_t k = 0; k < v.count(); ++k)
    for (std::size_t i = 0; i < v[k].size(); i += 2) {
      v[k][i] -= both[2 * k + 1][i + 1];
      v[k][i + 1] += both[2 * k + 1][i];
    }
  return v;
}

/// combined() of numbers high + low, in twice FP64's precision.
inline void combine_extended(Field field, MultiVector& high, MultiVector& low) {
  if (field == Field::real) return;
  const MultiVector highs = std::exchange(high, firsts(field, high));
  const MultiVector lows = std::exchange(low, firsts(field, low));
  for (std::int64_t k = 0; k < high.count(); ++k) {
    const std::span<const double> q = highs[2 * k + 1];
    const std::span<const double> q_low = lows[2 * k + 1];
    for (std::size_t i = 0; i < q.size(); i += 2) {
      add_pair(high[k][i], low[k][i], -q[i + 1], -q_low[i + 1]);
      add_pair(high[k][i + 1], low[k][i + 1], q[i], q_low[i]);
    }
  }
}

/// An upper bound of each part of p + i q, where p and q hold the magnitudes of their parts in
/// pairs: |Re p| + |Im q| and |Im p| + |Re q|.
inline MultiVector combined_magnitudes(Field field, MultiVector both) {
  if (field == Field::real) return both;
  MultiVector v = firsts(field, both);
  for (std::int64_t k = 0; k < v.count(); ++k)
    for (std::size_t i = 0; i < v[k].size(); ++i) v[k][i] += both[2 * k + 1][i ^ 1];
  return v;
}

/// Of a vector along the columns of H, given for each number of the pairs, one for each column.
inline Vector of_columns(Field field, Vector v) {
  if (field == Field::real) return v;
  Vector each(v.size() / 2);
  for (std::size_t i = 0; i < each.size(); ++i) each[i] = v[2 * i];
  return each;
}

}  // namespace speedwell
