// SPDX-License-Identifier: BSD-3-Clause
#include "solve/user_matrix.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "comm/agreement.hpp"
#include "comm/interruption.hpp"
#include "core/expects.hpp"
#include "host/lapack_lu.hpp"
#include "source/part_writer.hpp"

namespace lupine {

bool is_read_in_place(const ProcessGrid& grid, const Device& device, const MatrixSource& source,
                      const Distribution& rows, const Distribution& columns) {
  const Communicator& all = grid.all();
  const double* array = source.array(all.rank());
  const bool there = source.in_place(grid, rows, columns).has_value();
  const bool readable = agreed(all, [&] { return device.can_read(array); });
  if (there && all.all_reduce(std::int64_t{readable}, Reduction::min) != 0) return true;
  agree(all, [&] {
    if (in_gpu_memory(array))
      throw UsageError(
          "A is in the memory of a GPU, where it cannot be used as it is; allowed: host memory, or "
          "on every rank the memory of the GPU on which it computes, either on one rank or with "
          "MB_ = NB_ and RSRC_ = CSRC_ = 0");
  });
  return false;
}

UserMatrix::UserMatrix(const ProcessGrid& grid, Device& device, const MatrixSource& source,
                       std::int64_t nb)
    : rows_(grid.rows(source.n(), nb)),
      columns_(grid.columns(source.n(), nb)),
      transposed_(source.transposed()) {
  if (is_read_in_place(grid, device, source, rows_, columns_)) {
    device.synchronize_all();  // the user's work that writes A may be in any queue
    local_ = *source.in_place(grid, rows_, columns_);
  } else {
    std::optional<PartWriter> part;
    agree(grid.all(), [&] {
      copy_.emplace(device, rows_, columns_, Precision::fp64);
      local_ = copy_->local();
      part.emplace(device, copy_->local().as<double>());
    });
    source.fill(grid, rows_, columns_, *part);
  }
  stop_if_interrupted(grid.all());
}

void UserMatrix::set_block(std::int64_t nb) {
  if (std::min(nb, rows_.size()) == rows_.block()) return;
  LUPINE_EXPECTS(nb >= 1 && rows_.local_size() == rows_.size() &&
                 columns_.local_size() == columns_.size());
  rows_ = Distribution(rows_.size(), nb, 1, 0);
  columns_ = Distribution(columns_.size(), nb, 1, 0);
}

System UserMatrix::system(const ProcessGrid& grid, Device& device, Transpose transpose) const {
  System plain(grid, device, held_matrix(local_), rows_, columns_);
  return transpose == Transpose::yes ? plain.transposed() : std::move(plain);
}

std::vector<double> times_ones(const ProcessGrid& grid, Device& device, const UserMatrix& a,
                               Transpose transpose) {
  System system = a.system(grid, device, transpose);
  const Vector ones(static_cast<std::size_t>(system.x_part().local_size()), 1.0);
  return system.b_space().gather(system.b_part(), system.multiply(ones));
}

std::int64_t zero_pivot_as_given(Device& device, const UserMatrix& a) {
  const std::int64_t n = a.rows().size();
  LUPINE_EXPECTS(a.rows().local_size() == n && a.columns().local_size() == n);
  const auto order = static_cast<std::size_t>(n);
  std::vector<double> copy(order * order);
  std::vector<int> pivots(order);
  const auto queue = device.make_queue(Priority::normal);
  Vector column(order);
  const auto zero_pivot = [&](bool transposed) {
    for (std::size_t j = 0; j < order; ++j) {
      device.download(*queue, a.local().as<double>().column(static_cast<std::int64_t>(j)), column);
      for (std::size_t i = 0; i < order; ++i)
        copy[transposed ? j + i * order : i + j * order] = column[i];
    }
    return factor_by_lapack({copy.data(), n, n, n}, pivots);
  };
  const std::int64_t found = zero_pivot(a.transposed());
  return found >= 0 && zero_pivot(!a.transposed()) >= 0 ? found : -1;
}

}  // namespace lupine
