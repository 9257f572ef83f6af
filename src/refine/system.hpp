// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The system A x = b or A^T x = b in FP64 as the refinement uses it: products with A, residuals
/// and norms. A is generated again in each pass, or held in memory; its scaling is applied to the
/// vectors.
#pragma once

#include <speedwell/benchmark_result.hpp>

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "comm/process_grid.hpp"
#include "core/expects.hpp"
#include "device/checksum_keys.hpp"
#include "device/device.hpp"
#include "element/matrix_spec.hpp"
#include "grid/distribution.hpp"
#include "refine/pairs.hpp"
#include "refine/vectors.hpp"

namespace speedwell {

/// The rank's part of A: its local rows and columns. Pointers point to device memory. Of a complex
/// A, products are those of the real matrix H of twice as many rows, and so are the vectors
/// (refine/pairs.hpp).
class LocalMatrix {
 public:
  virtual ~LocalMatrix() = default;
  /// Device::prepare() for these passes.
  virtual void prepare(Device& device, Queue& queue) const { device.prepare(queue, {}); }
  /// AX <- B X in one pass over A, where B is A or A^T, for Device::few_vectors at most. Also
  /// abs_rows_i <- sum_j |b_ij|, abs_ax <- |B| |X| and *checksum <- that of A, as
  /// Device::multiply() has it, each where its pointer is not null.
  /// @pre A^T, and a checksum, only of an A that is held()
  virtual void multiply(Device& device, Queue& queue, Transpose transpose,
                        MatrixView<const double> x, MatrixView<double> ax, double* abs_rows,
                        MatrixView<double> abs_ax, MatrixChecksum* checksum) const = 0;
  /// A, or H, in device memory, in FP64; nothing if it is not held there.
  virtual std::optional<ConstAnyMatrix> held() const { return std::nullopt; }
  virtual Field field() const { return Field::real; }
};

/// A benchmark's matrix, which the device generates again in every pass, for one vector after the
/// other.
std::unique_ptr<LocalMatrix> generated_matrix(const MatrixSpec& spec, const Distribution& rows,
                                              const Distribution& columns);
/// A matrix in FP64 in device memory, which must stay unchanged. @param a real; H of a complex one
std::unique_ptr<LocalMatrix> held_matrix(ConstAnyMatrix a, Field field = Field::real);

/// The entries of a benchmark's b that belong to these rows: b along rows.
Vector right_hand_side(const MatrixSpec& spec, const Distribution& rows);

/// The diagonals of R and C of the scaled system (R A C) y = R b, x = C y. An empty vector: ones.
struct Scales {
  Vector rows;     ///< R, along rows
  Vector columns;  ///< C, along columns
};

/// The scaled system (R A C) Y = R B of any number of right-hand sides. All members are collective,
/// except the accessors. Solutions y and right-hand sides b are distributed as the columns and rows
/// of A are: y "along columns" and b "along rows" (see Layout). Norms are infinity norms.
///
/// A complex system of order m is a real one of order n = 2 m (refine/pairs.hpp): so are its
/// vectors, norms and errors, and real and imaginary parts are entries of their own. Its transpose
/// is that of the real system, with A^H.
///
/// transposed() is the system (C A^T R) Y = C B with the same A in memory: there y is along rows
/// and b along columns. In the comments of a System, A is the matrix of its own system, and R and C
/// are the scales of its rows and columns.
class System {
 public:
  /// @param rows,columns the distribution of A; of a complex one that of the real system
  System(const ProcessGrid& grid, Device& device, std::unique_ptr<LocalMatrix> a, Distribution rows,
         Distribution columns, Scales scales = {});

  /// The system with A^T, for an A that is held in memory. It is watched if this one is.
  System transposed() const;
  /// Has every further pass over A take the checksum of A as it reads it.
  /// @pre A is held in memory
  void watch();
  /// The checksum of the rank's part of A (see Device::multiply()) as the last pass has read it;
  /// nothing where the system is not watched, or errors() needed no pass since. Not collective.
  std::optional<MatrixChecksum> checksum() const;

  /// Whether the scales in this rank's memory are those that were given. Not collective.
  bool scales_hold() const {
    return checksum_of(x_.scales) == x_.of_scales && checksum_of(b_.scales) == b_.of_scales;
  }

  std::int64_t n() const { return x_.part.size(); }
  Field field() const { return a_->field(); }
  const ProcessGrid& grid() const { return grid_; }
  /// The distribution of solutions, and of right-hand sides.
  const Distribution& x_part() const { return x_.part; }
  const Distribution& b_part() const { return b_.part; }
  /// The operations with solutions, and with right-hand sides, of all ranks.
  VectorSpace x_space() const { return {grid_, x_.layout}; }
  VectorSpace b_space() const { return {grid_, b_.layout}; }
  /// ||A|| of the given, unscaled A. The first pass over A computes it; the call makes that pass if
  /// there was none.
  double norm_a();

  /// R A C V, distributed as b; V as y. One pass over A for Device::few_vectors, a product of
  /// matrices for more.
  MultiVector multiply(const MultiVector& v);
  Vector multiply(const Vector& v) { return multiply(MultiVector(v)).only(); }
  /// (R A C)^T V, distributed as y; V as b; for an A that is held in memory.
  MultiVector multiply_transposed(const MultiVector& v);
  Vector multiply_transposed(const Vector& v) { return multiply_transposed(MultiVector(v)).only(); }
  /// The residuals of approximations Y, and the bounds with which they are compared; both
  /// distributed as b.
  struct Errors {
    MultiVector residual;  ///< R B - R A C Y
    MultiVector bound;     ///< |R A C| |Y| + |R B|; empty where it was not asked for
    MultiVector extended;  ///< R B - R A C (Y + Y_low); empty without a Y_low
  };
  /// The residuals in FP64, and the bounds if with_bound. For more than Device::few_vectors vectors
  /// the bounds are computed in FP32 where that holds their numbers: their relative error is below
  /// 2^-24 (n + 4). @param b R B
  Errors errors(const MultiVector& y, const MultiVector& b, bool with_bound);
  /// errors() with the residuals of Y and of Y + Y_low, |Y_low| <= eps |Y|, computed in twice
  /// FP64's precision and each rounded once: the error before that is at most extended_error()
  /// times the bound, but for underflow. @pre is_extended()
  Errors extended_errors(const MultiVector& y, const MultiVector& y_low, const MultiVector& b,
                         bool with_bound);
  double extended_error() const { return 10 * (static_cast<double>(n()) + 10) * eps * eps; }
  /// Whether residuals can be computed in twice FP64's precision: A is held, and the device can.
  bool is_extended() const { return a_->held() && device_.multiplies_extended(); }
  /// max_i |residual_i| / bound_i of each vector: its componentwise backward error (W. Oettli and
  /// W. Prager, Numer. Math. 6, 1964), where 0/0 counts as 0 and NaN as infinity.
  Vector componentwise_errors(const MultiVector& residual, const MultiVector& bound) const;
  /// norm_a(), ||v||, ||b|| and ||r||. @param v distributed as y @param r as b
  SystemNorms norms(std::span<const double> v, std::span<const double> b,
                    std::span<const double> r);
  /// sum_j |R A C|_ij for the rank's part of b; one pass over A at most, in the first call.
  const Vector& row_sums();
  /// ||R A C||.
  double scaled_norm() { return largest_of_all(row_sums()); }

 private:
  /// One of the two distributions of vectors.
  struct Domain {
    Layout layout;
    Distribution part;
    Vector scales;   ///< of these vectors; empty: ones
    Buffer vectors;  ///< device memory for some of them, in the form of a product with A
    MatrixChecksum of_scales = checksum_of(scales);

    std::int64_t size() const { return part.local_size(); }
  };
  System(const ProcessGrid& grid, Device& device, std::shared_ptr<const LocalMatrix> a,
         Transpose transpose, Domain x, Domain b);
  double largest_of_all(std::span<const double> v) const;
  /// high + low is R A C V, where low is empty in FP64; of_low is R A C V_low.
  struct Product {
    MultiVector high;
    MultiVector low{};
    MultiVector of_low{};
  };
  Product pass(const MultiVector& v, const MultiVector* v_low, MultiVector* abs_ax);
  Product extended_sums(std::int64_t vectors) const;
  MultiVector product(const MultiVector& v, Domain& from, Domain& to);
  MultiVector magnitude_product(const MultiVector& v);
  template <class T>
  MultiVector magnitude_product_in(const MultiVector& v, const Vector& powers);
  /// The real vectors that stand for so many in a product with A.
  std::int64_t products(std::int64_t vectors) const { return parts_of(field()) * vectors; }
  /// Numbers of one of these on the rank: half of domain.size() in planes.
  std::int64_t size_in_products(const Domain& domain) const {
    return domain.layout == Layout::rows ? domain.size() : plane_size(field(), domain.size());
  }
  bool as_product(std::int64_t vectors) const {
    return products(vectors) > Device::few_vectors && a_->held();
  }
  MultiVector row_sums_of(const double* parts) const;
  MultiVector to_multiply(MultiVector v, const Domain& domain) const;
  MultiVector multiplied(MultiVector v, const Domain& domain, bool magnitudes) const;
  void reserve(Domain& domain, std::int64_t vectors) const;
  MultiVector sums(const Domain& domain, const double* parts, std::int64_t vectors,
                   bool magnitudes = false) const;

  const ProcessGrid& grid_;
  Device& device_;
  std::shared_ptr<const LocalMatrix> a_;
  Transpose transpose_;  // whether the matrix of the system is the transpose of *a_
  Domain x_;             // solutions
  Domain b_;             // right-hand sides
  std::unique_ptr<Queue> queue_;
  Buffer abs_ax_;    // device memory, for some vectors
  Buffer abs_rows_;  // for one
  Buffer checksum_;  // one, of a system that is watched
  bool summed_ = false;
  double norm_a_ = -1;
  std::optional<Vector> row_sums_;  // of R A C
};

}  // namespace speedwell
