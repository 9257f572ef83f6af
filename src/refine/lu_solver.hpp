// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Solves with the factors, and with their transposes, in FP64 from FP32 or FP64 factors.
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

/// Block by block: the process row of a block sums up what it owes, the owner of the diagonal
/// solves, its process column subtracts the block's part from all rows to come. With the
/// transposes, rows and columns change their parts. Reads each factor once: 4 n^2 bytes (8 n^2 in
/// FP64) over all ranks. Rows of r are exchanged as the factorization exchanged those of A: a
/// step's before its block of L is used, and back after L^T's.
class LuSolver {
 public:
  /// @param width columns of a step, as in the factorization
  /// @param pivots as FactorOutcome has them; empty without pivoting
  /// @param trace where to record the solves; null: nowhere
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
  // Of what is owed (a right-hand side less what is known) each rank has a part; what is known is
  // alike. One lies along rows, the other along columns.
  Buffer of_rows_;
  Buffer of_columns_;
  Vector message_;
  std::vector<DeviceRowMoves> moves_;  // by step
  std::vector<DeviceRowMoves> undo_;   // made when first needed
  std::optional<RowExchange> exchange_;
};

}  // namespace lupine
