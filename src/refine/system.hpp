// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The system A x = b in FP64 as the refinement uses it: products with A, residuals and norms. A is
/// generated again in each pass, or held in memory; its scaling is applied to the vectors.
#pragma once

#include <lupine/benchmark.hpp>

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "comm/process_grid.hpp"
#include "core/expects.hpp"
#include "device/device.hpp"
#include "element/matrix_spec.hpp"
#include "grid/distribution.hpp"
#include "refine/vectors.hpp"

namespace lupine {

/// The rank's part of A: its local rows and columns. Pointers point to device memory.
class LocalMatrix {
 public:
  virtual ~LocalMatrix() = default;
  /// AX <- A X in one pass over A, for Device::few_vectors at most. Also abs_rows_i <- sum_j |a_ij|
  /// and abs_ax <- |A| |X|, each where its pointer is not null.
  virtual void multiply(Device& device, Queue& queue, MatrixView<const double> x,
                        MatrixView<double> ax, double* abs_rows,
                        MatrixView<double> abs_ax) const = 0;
  /// A in device memory, in FP64; nothing if it is not held there.
  virtual std::optional<ConstAnyMatrix> held() const { return std::nullopt; }
};

/// A benchmark's matrix, which the device generates again in every pass, for one vector after the
/// other.
std::unique_ptr<LocalMatrix> generated_matrix(const MatrixSpec& spec, const Distribution& rows,
                                              const Distribution& columns);
/// A matrix in FP64 in device memory, which must stay unchanged.
std::unique_ptr<LocalMatrix> held_matrix(ConstAnyMatrix a);

/// The entries of a benchmark's b that belong to these rows: b along rows.
Vector right_hand_side(const MatrixSpec& spec, const Distribution& rows);

/// The diagonals of R and C of the scaled system (R A C) y = R b, x = C y. An empty vector: ones.
struct Scales {
  Vector rows;     ///< R, along rows
  Vector columns;  ///< C, along columns
};

/// The scaled system (R A C) Y = R B of any number of right-hand sides. All members are collective,
/// except the accessors. "Along rows" and "along columns": see Layout. Norms are infinity norms.
class System {
 public:
  /// @param rows,columns the distribution of A
  System(const ProcessGrid& grid, Device& device, std::unique_ptr<LocalMatrix> a, Distribution rows,
         Distribution columns, Scales scales = {});

  std::int64_t n() const { return rows_.size(); }
  const Distribution& rows() const { return rows_; }
  const Distribution& columns() const { return columns_; }
  const ProcessGrid& grid() const { return grid_; }
  /// ||A|| of the given, unscaled A. The first pass over A computes it; the call makes that pass if
  /// there was none.
  double norm_a();

  /// R A C V, along rows; V along columns. One pass over A for Device::few_vectors, a product of
  /// matrices for more.
  MultiVector multiply(const MultiVector& v);
  Vector multiply(const Vector& v) { return multiply(MultiVector(v)).only(); }
  /// (R A C)^T V, along columns; V along rows; for an A that is held in memory.
  MultiVector multiply_transposed(const MultiVector& v);
  Vector multiply_transposed(const Vector& v) { return multiply_transposed(MultiVector(v)).only(); }
  /// The residuals of approximations Y, and the bounds with which they are compared; both along
  /// rows.
  struct Errors {
    MultiVector residual;  ///< R B - R A C Y
    MultiVector bound;     ///< |R A C| |Y| + |R B|; empty where it was not asked for
  };
  /// The residuals in FP64, and the bounds if with_bound. For more than Device::few_vectors vectors
  /// the bounds are computed in FP32 where that holds their numbers: their relative error is below
  /// 2^-24 (n + 4). @param y along columns @param b R B, along rows
  Errors errors(const MultiVector& y, const MultiVector& b, bool with_bound);
  /// max_i |residual_i| / bound_i of each vector: its componentwise backward error (W. Oettli and
  /// W. Prager, Numer. Math. 6, 1964), where 0/0 counts as 0 and NaN as infinity.
  Vector componentwise_errors(const MultiVector& residual, const MultiVector& bound) const;
  /// norm_a(), ||v||, ||b|| and ||r||. @param v along columns @param b,r along rows
  SystemNorms norms(std::span<const double> v, std::span<const double> b,
                    std::span<const double> r);
  /// sum_j |R A C|_ij for the rank's rows; one pass over A at most, in the first call.
  const Vector& row_sums();
  /// ||R A C||.
  double scaled_norm() { return largest_of_all(row_sums()); }

 private:
  double largest_of_all(std::span<const double> v) const;
  MultiVector pass(const MultiVector& v, MultiVector* abs_ax);
  MultiVector product(const MultiVector& v);
  MultiVector magnitude_product(const MultiVector& v);
  void reserve(std::int64_t vectors);
  MultiVector sums(const double* parts, std::int64_t vectors) const;

  const ProcessGrid& grid_;
  Device& device_;
  std::unique_ptr<LocalMatrix> a_;
  Distribution rows_;
  Distribution columns_;
  Scales scales_;
  std::unique_ptr<Queue> queue_;
  // Device memory, for some vectors each.
  Buffer of_columns_;
  Buffer of_rows_;
  Buffer abs_ax_;
  Buffer abs_rows_;  // one vector
  double norm_a_ = -1;
  std::optional<Vector> row_sums_;  // of R A C
};

}  // namespace lupine
