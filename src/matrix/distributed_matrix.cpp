// SPDX-License-Identifier: BSD-3-Clause
#include "matrix/distributed_matrix.hpp"

#include <utility>

#include "core/expects.hpp"

namespace speedwell {

DistributedMatrix::DistributedMatrix(Device& device, Distribution rows, Distribution columns,
                                     Precision storage, Field field)
    : rows_(std::move(rows)),
      columns_(std::move(columns)),
      memory_(device.allocate(
          bytes(rows_.local_size(), columns_.local_size(), bytes_of(storage) * parts_of(field)))),
      view_{storage,
            memory_.data(),
            rows_.local_size(),
            columns_.local_size(),
            leading_dimension(rows_.local_size()),
            field} {}

std::int64_t DistributedMatrix::leading_dimension(std::int64_t rows) {
  return speedwell::leading_dimension(rows, 16);
}

AnyMatrix DistributedMatrix::from(LocalIndex i, LocalIndex j) const {
  return view_.block(i.value, j.value, view_.rows - i.value, view_.columns - j.value);
}

AnyMatrix DistributedMatrix::diagonal(const Step& step) const {
  SPEEDWELL_EXPECTS(step.owns_diagonal());
  return view_.block(step.row.value, step.column.value, step.width(), step.width());
}

}  // namespace speedwell
