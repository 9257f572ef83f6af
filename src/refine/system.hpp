// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The system A x = b in FP64, A generated wherever it is needed or held, and scaled on the way.
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

/// The rank's part of A.
class LocalMatrix {
 public:
  virtual ~LocalMatrix() = default;
  /// As Device::multiply.
  virtual void multiply(Device& device, Queue& queue, const double* x, double* ax, double* abs_rows,
                        double* abs_ax) const = 0;
  /// z <- z - A^T y.
  virtual void subtract_transposed(Device& device, Queue& queue, const double* y,
                                   double* z) const = 0;
};

/// Computed anew in every pass; its transpose is nobody's need: a Fault.
std::unique_ptr<LocalMatrix> generated_matrix(const MatrixSpec& spec, const Distribution& rows,
                                              const Distribution& columns);
/// In device memory, which must stay as it is.
std::unique_ptr<LocalMatrix> held_matrix(ConstAnyMatrix a);

/// The entries of b that belong to these rows.
Vector right_hand_side(const MatrixSpec& spec, const Distribution& rows);

/// R and C of the scaled system (R A C) y = R b, x = C y: the rank's entries. Empty: ones.
struct Scales {
  Vector rows;
  Vector columns;
};

/// All members are collective but for the simple ones; vectors of rows and columns as Layout says.
class System {
 public:
  System(const ProcessGrid& grid, Device& device, std::unique_ptr<LocalMatrix> a, Distribution rows,
         Distribution columns, Scales scales = {});

  std::int64_t n() const { return rows_.size(); }
  const Distribution& rows() const { return rows_; }
  const Distribution& columns() const { return columns_; }
  const ProcessGrid& grid() const { return grid_; }
  const Vector& b() const { return b_; }
  /// ||A||, not scaled. @pre a pass over A has been made
  double norm_a() const {
    LUPINE_EXPECTS(norm_a_ >= 0);
    return norm_a_;
  }
  /// Sets R b, the right-hand side of the scaled system.
  void set_b(Vector b) { b_ = std::move(b); }

  /// R A C v along rows. The first pass also finds ||A||, not scaled.
  Vector multiply(const Vector& v);
  /// (R A C)^T v along columns, v along rows.
  Vector multiply_transposed(const Vector& v);
  /// What a pass over A tells of y.
  struct Errors {
    Vector residual;  ///< R b - R A C y, along rows
    Vector bound;     ///< |R A C| |y| + |R b|; empty where it was not asked for
  };
  Errors errors(const Vector& y, bool with_bound);
  /// max_i |r_i| / bound_i (Oettli & Prager), 0/0 being 0; NaN counts as infinity.
  double componentwise_error(const Errors& errors) const;
  /// ||A||, not scaled, and ||v||, ||R b||, ||r||. @pre a pass over A has been made
  SystemNorms norms(const Vector& v, const Vector& r) const;
  /// ||R A C||.
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
