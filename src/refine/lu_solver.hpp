/// @file
/// Solves with the factors: d = U^-1 L^-1 P r, in FP64 from FP32 or FP64 factors.
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
#include "transport/row_exchange.hpp"

namespace lupine {

/// Block by block: the process row of a block sums up what it owes, the owner of the diagonal
/// solves, its process column subtracts the block's part from all rows to come. Reads each factor
/// once: 4 n^2 bytes (8 n^2 in FP64) over all ranks. Rows of r are exchanged as the factorization
/// exchanged those of A: a step's before its block of L is used.
class LuSolver {
 public:
  /// @param width columns of a step, as in the factorization
  /// @param pivots as FactorOutcome has them; empty without pivoting
  /// @param trace where to record the solves; null: nowhere
  LuSolver(Transport& transport, const DistributedMatrix& lu, std::int64_t width,
           std::span<const std::int64_t> pivots, Trace* trace = nullptr);

  /// @param r along rows; @return d along columns. Collective.
  std::vector<double> solve(std::span<const double> r);

 private:
  enum class Triangle { lower, upper };
  void sweep(Triangle triangle);
  void exchange_rows(std::int64_t k);
  void sum_to_owner(const Step& s, double* part);
  void send_down(const Step& s, double* part);

  const ProcessGrid& grid_;
  Device& device_;
  const DistributedMatrix& lu_;
  Plan plan_;
  Trace* trace_;
  std::unique_ptr<Queue> queue_;
  Buffer owed_;  // along rows: right-hand side less what is known; a part in each process column
  Buffer solution_;  // along columns
  std::vector<double> message_;
  std::vector<DeviceRowMoves> moves_;  // by step
  std::optional<RowExchange> exchange_;
};

}  // namespace lupine
