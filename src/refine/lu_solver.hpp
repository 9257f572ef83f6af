/// @file
/// Solves with the factors: d = U^-1 L^-1 r, in FP64 from FP32 factors.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "comm/process_grid.hpp"
#include "device/device.hpp"
#include "grid/step.hpp"
#include "matrix/distributed_matrix.hpp"

namespace lupine {

/// Block by block: the process row of a block sums up what it owes, the owner of the diagonal
/// solves, its process column subtracts the block's part from all rows to come. Reads each factor
/// once: 4 n^2 bytes over all ranks.
class LuSolver {
 public:
  LuSolver(const ProcessGrid& grid, Device& device, const DistributedMatrix& lu,
           std::int64_t width);

  /// @param r along rows; @return d along columns. Collective.
  std::vector<double> solve(std::span<const double> r);

 private:
  enum class Triangle { lower, upper };
  void sweep(Triangle triangle);
  void sum_to_owner(const Step& s, double* part);
  void send_down(const Step& s, double* part);

  const ProcessGrid& grid_;
  Device& device_;
  const DistributedMatrix& lu_;
  Plan plan_;
  std::unique_ptr<Queue> queue_;
  Buffer owed_;  // along rows: right-hand side less what is known; a part in each process column
  Buffer solution_;  // along columns
  std::vector<double> message_;
};

}  // namespace lupine
