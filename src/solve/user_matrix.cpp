// SPDX-License-Identifier: BSD-3-Clause
#include "solve/user_matrix.hpp"

#include <utility>

#include "comm/agreement.hpp"
#include "refine/system.hpp"
#include "solve/part_writer.hpp"

namespace lupine {

UserMatrix::UserMatrix(const ProcessGrid& grid, Device& device, const MatrixSource& source,
                       std::int64_t nb)
    : rows_(grid.rows(source.n(), nb)),
      columns_(grid.columns(source.n(), nb)),
      transposed_(source.transposed()) {
  if (device.shares_host_memory())
    if (const auto there = source.in_place(grid, rows_, columns_)) {
      local_ = *there;
      return;
    }
  std::optional<PartWriter> part;
  agree(grid.all(), [&] {
    copy_.emplace(device, rows_, columns_, Precision::fp64);
    local_ = copy_->local();
    part.emplace(device, copy_->local().as<double>());
  });
  source.fill(grid, rows_, columns_, *part);
}

std::vector<double> times_ones(const ProcessGrid& grid, Device& device, const UserMatrix& a,
                               Transpose transpose) {
  System plain(grid, device, held_matrix(a.local()), a.rows(), a.columns());
  System system = transpose == Transpose::yes ? plain.transposed() : std::move(plain);
  const Vector ones(static_cast<std::size_t>(system.x_part().local_size()), 1.0);
  return system.b_space().gather(system.b_part(), system.multiply(ones));
}

}  // namespace lupine
