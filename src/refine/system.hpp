// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The system A x = b in FP64 as the refinement uses it: products with A, residuals and norms. A is
/// generated again in each pass, or held in memory; its scaling is applied to the vectors.
#pragma once

#include <lupine/benchmark.hpp>

#include <memory>
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
  /// ax <- A x in one pass over A. Also abs_rows_i <- sum_j |a_ij| and abs_ax <- |A| |x|, each
  /// where its pointer is not null.
  virtual void multiply(Device& device, Queue& queue, const double* x, double* ax, double* abs_rows,
                        double* abs_ax) const = 0;
  /// z <- z - A^T y.
  virtual void subtract_transposed(Device& device, Queue& queue, const double* y,
                                   double* z) const = 0;
};

/// A benchmark's matrix, which the device generates again in every pass.
/// subtract_transposed() throws a Fault: no caller needs it for generated matrices.
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

/// The scaled system (R A C) y = R b. All members are collective, except the accessors and set_b().
/// "Along rows" and "along columns": see Layout. Norms are infinity norms.
class System {
 public:
  /// @param rows,columns the distribution of A
  System(const ProcessGrid& grid, Device& device, std::unique_ptr<LocalMatrix> a, Distribution rows,
         Distribution columns, Scales scales = {});

  std::int64_t n() const { return rows_.size(); }
  const Distribution& rows() const { return rows_; }
  const Distribution& columns() const { return columns_; }
  const ProcessGrid& grid() const { return grid_; }
  const Vector& b() const { return b_; }
  /// ||A|| of the given, unscaled A. @pre multiply(), errors() or scaled_norm() was called before
  double norm_a() const {
    LUPINE_EXPECTS(norm_a_ >= 0);
    return norm_a_;
  }
  /// Sets the right-hand side of the scaled system. @param b R b, along rows
  void set_b(Vector b) { b_ = std::move(b); }

  /// R A C v, along rows; v along columns. The first pass over A also computes norm_a().
  Vector multiply(const Vector& v);
  /// (R A C)^T v, along columns; v along rows.
  Vector multiply_transposed(const Vector& v);
  /// The residual of an approximation y, and the bound with which the residual is compared; both
  /// along rows.
  struct Errors {
    Vector residual;  ///< R b - R A C y
    Vector bound;     ///< |R A C| |y| + |R b|; empty where it was not asked for
  };
  /// The residual, and the bound if with_bound, in one pass over A. @param y along columns
  Errors errors(const Vector& y, bool with_bound);
  /// The componentwise backward error max_i |residual_i| / bound_i (W. Oettli and W. Prager, Numer.
  /// Math. 6, 1964), where 0/0 counts as 0 and NaN as infinity.
  double componentwise_error(const Errors& errors) const;
  /// ||A|| of the given, unscaled A, ||v||, ||R b|| and ||r||. @pre as norm_a()
  /// @param v along columns @param r along rows
  SystemNorms norms(const Vector& v, const Vector& r) const;
  /// ||R A C||, in one pass over A.
  double scaled_norm();

 private:
  double largest_of_all(std::span<const double> v) const;
  Vector pass(const Vector& v, Vector* abs_ax);

  const ProcessGrid& grid_;
  Device& device_;
  std::unique_ptr<LocalMatrix> a_;
  Distribution rows_;
  Distribution columns_;
  Scales scales_;
  std::unique_ptr<Queue> queue_;
  Buffer of_columns_;
  Buffer of_rows_;
  Buffer abs_rows_;
  Buffer abs_ax_;
  Vector b_;
  double norm_a_ = -1;
};

}  // namespace lupine
