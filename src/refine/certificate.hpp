// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Proven bounds of the errors of solutions, by an approximate inverse. Source: S. M. Rump,
/// "Verification methods", Acta Numerica 19, 2010, section 10. docs/numerics.md, section 4.7, has
/// the formulas and the roundings.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>

#include "device/device.hpp"
#include "grid/lu_plan.hpp"
#include "matrix/distributed_matrix.hpp"
#include "refine/factor_solver.hpp"
#include "refine/system.hpp"

namespace speedwell {

/// What a Certificate needs of the scaled matrix R A C beside its system.
struct ScaledEntries {
  /// to <- the part of R A C from row i and column j on (elements), rounded to FP32 or FP64. An
  /// entry is off by `underflow` at most beside that rounding.
  std::function<void(AnyMatrix to, std::int64_t i, std::int64_t j)> round;
  double underflow = 0;
  double largest = 1;  ///< the largest entry of R A C in magnitude, to a factor of two
};

/// What a Certificate has shown of E = I - R A; with the transpose, of I - R^T A^T.
struct Contraction {
  bool to_nearest = true;  ///< whether products of matrices round to nearest; else nothing is shown
  double rounding = 0;     ///< at least the part of ||E|| that is a bound of roundings
  double predicted = 0;    ///< about ||E||, before it was computed
  double norm = unknown;   ///< at least ||E||; NaN: not computed, since it would not be below 1
  Precision products = Precision::automatic;  ///< in which E was computed
  Vector weights{};                           ///< d
  Vector rows{};                              ///< at least |E| d
  bool is_shown() const { return norm < 1; }
};

/// Proofs for the system A y = b, in which A means the scaled matrix R A C; and for that with A^T.
/// Vectors are distributed as those of the system. With an approximation R of A^-1, E = I - R A,
/// and any weights d > 0,
///     ||E|| < 1:  A is not singular, and  |y* - y|  <=  |R r| + |E| d ||R r|| / (1 - ||E||)
/// for any y, with its residual r and the exact solution y*, in the norms ||v|| = max_i |v_i| / d_i
/// and ||E|| = max_i (|E| d)_i / d_i. Whatever is rounded is bounded, in any order of sums, for
/// products of matrices by their definition (no Strassen) and rounding to nearest; underflow may be
/// gradual or to zero. Of a complex system they are those of the real one (refine/pairs.hpp), as
/// are A and R. All members that are not static are collective.
class Certificate {
 public:
  /// Makes R by solves with the factors: 2 n^3 operations. Refers to its arguments.
  /// @param a the system of the matrix itself, not of its transpose
  /// @param solver solves with factors of A
  /// @param factors their precision, by which that of products is chosen
  /// @param entries of the whole matrix, where is_whole()
  /// @pre a.is_extended() @throws Fault out of memory
  Certificate(Device& device, System& a, FactorSolver& solver, Precision factors,
              ScaledEntries entries);
  Certificate(const Certificate&) = delete;
  Certificate& operator=(const Certificate&) = delete;

  /// Whether A and R are whole in the memory of one host: then strips of I - R A are products of
  /// their parts, in FP32 where that is precise enough. Otherwise they are those of systems with A
  /// and with R, in FP64: columns of A are then the products of A with those of I.
  static bool is_whole(const Device& device, int ranks);
  /// Bytes that a Certificate takes at most on this rank.
  static double bytes(const LuPlan& plan);
  /// Real operations of R and of one I - R A of this order.
  static double operations(std::int64_t n, Field field, bool whole);

  /// Made in the first call for each of the two: 2 n^3 operations, or few where it shows before
  /// that there can be no proof. @param a the system, or a.transposed() of it
  const Contraction& contraction(System& a, Transpose op);

  /// Bounds of |y - y*| for each approximation y of the solution of A y* = b (A^T y* = b), which
  /// was y + low before it was rounded: infinity where an entry has none.
  /// @pre contraction(a, op).is_shown()
  MultiVector errors(System& a, Transpose op, const MultiVector& y, const MultiVector& low,
                     const MultiVector& b);

 private:
  System& inverse(Transpose op) {
    return (op == Transpose::no) == whole_ ? held_ : held_transposed_;
  }
  void solve_for_inverse(System& a, FactorSolver& solver);
  void round_to_fp32();
  Vector product_sums(System& a, Transpose op, Precision precision, const Vector& d);
  Vector system_sums(System& a, Transpose op, const Vector& d);
  Vector row_norms(System& a, Transpose op, const Vector& d);
  Vector predicted(System& a, Transpose op, const Vector& d, std::span<const double> w,
                   double rounding);
  MultiVector errors_of_few(System& a, Transpose op, const MultiVector& y, const MultiVector& low,
                            const MultiVector& b);

  Device& device_;
  ScaledEntries entries_;
  bool whole_;
  bool in_fp32_ = false;  // whether R holds numbers of FP32 alone
  DistributedMatrix r_;   // R, in FP64; else R^T (of a complex A, R^H), distributed as A
  System held_;           // r_ v
  System held_transposed_;
  std::array<std::optional<Contraction>, 2> contractions_;  // of A, and of A^T
};

}  // namespace speedwell
