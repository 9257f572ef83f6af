// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Solves with the factors L and U, and with their transposes. The factors are FP32 or FP64;
/// vectors and sums are FP64.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "comm/process_grid.hpp"
#include "core/trace.hpp"
#include "device/device.hpp"
#include "grid/step.hpp"
#include "matrix/distributed_matrix.hpp"
#include "refine/vectors.hpp"
#include "transport/row_exchange.hpp"

namespace lupine {

/// Solves block by block, with the blocks of the factorization's steps. For L and U:
/// 1. The process row of block k sums up the block's remaining right-hand side: each of its ranks
///    holds a part of the sum.
/// 2. The owner of the diagonal block solves for d_k, and sends d_k along its process column.
/// 3. The process column subtracts T_ik d_k from the right-hand side of the rows i still to be
///    solved for (T is L or U).
/// For the transposes, process rows and process columns exchange their roles. A solve reads each
/// factor once: 4 n^2 bytes in FP32 (8 n^2 in FP64) over all ranks.
///
/// The rows of r are exchanged in the same order as those of A in the factorization: the exchanges
/// of a step come before its block of L is used. A transposed solve undoes the exchanges of a step
/// after its block of L^T was used.
class LuSolver {
 public:
  /// @param lu the factors as factorize() stores them; must stay unchanged
  /// @param width most columns of a step, as in the factorization
  /// @param pivots FactorOutcome::pivots; empty without pivoting
  /// @param trace records the solves; null: no trace
  LuSolver(Transport& transport, const DistributedMatrix& lu, std::int64_t width,
           std::span<const std::int64_t> pivots, Trace* trace = nullptr);

  /// d = U^-1 L^-1 P r. @param r along rows; @return d along columns. Collective.
  Vector solve(const Vector& r);
  /// d = P^T L^-T U^-T r. @param r along columns; @return d along rows. Collective.
  Vector solve_transposed(const Vector& r);

 private:
  enum class Triangle { lower, upper };
  void sweep(Triangle triangle);
  void sweep_upper_transposed();
  void sweep_lower_transposed();
  void plan_moves(std::vector<DeviceRowMoves>& moves, Exchanges exchanges);
  void exchange_rows(const DeviceRowMoves& moves);
  void sum_up(const Communicator& ranks, int owner, const Step& s, double* part);
  void share(const Communicator& ranks, int owner, const Step& s, double* part);

  const ProcessGrid& grid_;
  Device& device_;
  const DistributedMatrix& lu_;
  Plan plan_;
  std::vector<std::int64_t> pivots_;
  Trace* trace_;
  std::unique_ptr<Queue> queue_;
  // Two vectors in device memory, one along rows and one along columns. In solve(), of_rows_ is the
  // remaining right-hand side (the sum of the parts of a process row's ranks), and of_columns_ is
  // the solution so far (the same on all ranks of a process column). In solve_transposed() the two
  // exchange their roles.
  Buffer of_rows_;
  Buffer of_columns_;
  Vector message_;                     // host memory for messages
  std::vector<DeviceRowMoves> moves_;  // the row exchanges of each step
  std::vector<DeviceRowMoves> undo_;   // their inverses, computed when first needed
  std::optional<RowExchange> exchange_;
};

}  // namespace lupine
