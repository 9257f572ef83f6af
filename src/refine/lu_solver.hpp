// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Solves with the factors L and U, and with their transposes. The factors are FP32 or FP64, or of
/// 16 bits, which are used as FP32; they are real or complex.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "comm/process_grid.hpp"
#include "device/device.hpp"
#include "grid/step.hpp"
#include "matrix/distributed_matrix.hpp"
#include "refine/factor_solver.hpp"
#include "refine/vectors.hpp"
#include "transport/row_exchange.hpp"

namespace speedwell {

/// Solves block by block, with the blocks of the factorization's steps. For L and U:
/// 1. The process row of block k sums up the block's remaining right-hand sides: each of its ranks
///    holds a part of the sum.
/// 2. The owner of the diagonal block solves for D_k, and sends D_k along its process column.
/// 3. The process column subtracts T_ik D_k from the right-hand sides of the rows i still to be
///    solved for (T is L or U).
/// With the transposes of L and U, the process column of block k first subtracts the products of
/// its column of T with the D_i that are known, and sums them up; D_k is sent along the process
/// row. So both solves read long pieces of columns. A solve reads each factor once: 4 n^2 bytes in
/// FP32 (8 n^2 in FP64) over all ranks.
///
/// Arithmetic is FP64, except that more than Device::few_vectors vectors with FP32 factors take
/// FP32: such a solve is bound by arithmetic, and no less accurate than its factors. Each vector is
/// scaled by a power of two before, so that its largest entry is near 1, as in LAPACK's dsgesv.
///
/// The rows of r are exchanged in the same order as those of A in the factorization: the exchanges
/// of a step come before its block of L is used. A transposed solve undoes the exchanges of a step
/// after its block of L^T was used.
class LuSolver final : public FactorSolver {
 public:
  /// @param lu the factors as factorize() stores them; must stay unchanged
  /// @param width most columns of a step, as in the factorization
  /// @param pivots FactorOutcome::pivots, which must live as long; empty without pivoting
  LuSolver(Transport& transport, const DistributedMatrix& lu, std::int64_t width,
           std::span<const std::int64_t> pivots);

  using FactorSolver::solve;
  using FactorSolver::solve_transposed;
  /// D = U^-1 L^-1 P R.
  MultiVector solve(const MultiVector& r) override;
  /// D = P^T L^-T U^-T R.
  MultiVector solve_transposed(const MultiVector& r) override;

 private:
  bool in_fp32(const MultiVector& r) const;
  RunContext::Span span(Activity activity) const {
    return grid_.all().run().span(Track::solves, {.activity = activity});
  }
  template <class T>
  MultiVector solve_in(const MultiVector& r);
  template <class T>
  MultiVector solve_transposed_in(const MultiVector& r);
  template <class T>
  Vector scales_of(const MultiVector& r, Layout layout) const;
  void prepare(Precision precision, std::int64_t vectors);
  template <class T>
  void put(const MultiVector& v, const Vector& divisors, AnyMatrix to);
  template <class T>
  MultiVector get(AnyMatrix from, const Vector& factors);
  void clear(AnyMatrix to);
  void sweep(Triangle triangle);
  void sweep_transposed(Triangle triangle);
  void plan_moves(std::vector<DeviceRowMoves>& moves, Exchanges exchanges);
  void exchange_rows(const DeviceRowMoves& moves);
  void sum_up(const Communicator& ranks, int owner, const Step& s, AnyMatrix part);
  void share(const Communicator& ranks, int owner, const Step& s, AnyMatrix part);
  /// A part of the factors in FP32 or FP64; valid until the next call.
  AnyMatrix wide(AnyMatrix factors);
  AnyMatrix piece(AnyMatrix part);
  Vector read(AnyMatrix part);
  void write(const Vector& entries, AnyMatrix part);
  std::int64_t parts() const { return parts_of(lu_.field()); }
  void add(Pairs pairs, AnyMatrix from, AnyMatrix to);
  /// Vectors of these rows of the matrix.
  AnyMatrix of_rows(std::int64_t first, std::int64_t rows) const {
    return of_rows_.block(parts() * first, 0, parts() * rows, of_rows_.columns);
  }
  AnyMatrix of_columns(std::int64_t first, std::int64_t rows) const {
    return of_columns_.block(first, 0, rows, of_columns_.columns);
  }

  Transport& transport_;
  const ProcessGrid& grid_;
  Device& device_;
  const DistributedMatrix& lu_;
  std::int64_t width_;
  StepSequence steps_;
  std::span<const std::int64_t> pivots_;
  std::unique_ptr<Queue> queue_;
  // Vectors in device memory, some along rows and as many along columns. In solve(), of_rows_ are
  // the remaining right-hand sides (the sums of the parts of a process row's ranks), and
  // of_columns_ are the solutions so far (the same on all ranks of a process column). In
  // solve_transposed() the two exchange their roles. With complex factors, vectors along columns
  // are in planes (refine/pairs.hpp), and those along rows in pairs: p and q of sums p + i q in
  // solve(), and in solve_transposed() y and -i y for each solution y.
  Buffer row_memory_;
  Buffer column_memory_;
  AnyMatrix of_rows_;
  AnyMatrix of_columns_;
  Buffer wide_;  // device memory: a part of factors of 16 bits, in FP32
  Buffer solving_memory_;
  AnyMatrix solving_;                  // one block's vectors in planes
  Buffer piece_;                       // device memory: one block's vectors
  std::vector<std::byte> staged_;      // host memory: vectors on their way to or from the device
  std::vector<DeviceRowMoves> moves_;  // the row exchanges of each step
  std::vector<DeviceRowMoves> undo_;   // their inverses, computed when first needed
  std::optional<RowExchange> exchange_;
  std::int64_t exchanged_bytes_ = 0;  // of a row, that exchange_ has room for
};

}  // namespace speedwell
