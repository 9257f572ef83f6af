#include "matrix/distributed_matrix.hpp"

#include <utility>

namespace lupine {

DistributedMatrix::DistributedMatrix(Device& device, Distribution rows, Distribution columns,
                                     Precision storage)
    : rows_(std::move(rows)),
      columns_(std::move(columns)),
      memory_(device.allocate(leading_dimension(rows_.local_size()) * columns_.local_size() *
                              bytes_of(storage))),
      view_{storage, memory_.data(), rows_.local_size(), columns_.local_size(),
            leading_dimension(rows_.local_size())} {}

std::int64_t DistributedMatrix::leading_dimension(std::int64_t rows) {
  const std::int64_t line = 16;   // elements of one cache line or two
  const std::int64_t page = 512;  // of one page or half
  const std::int64_t padded = (rows + line - 1) / line * line;
  return padded % page == 0 ? padded + line : padded;
}

AnyMatrix DistributedMatrix::from(LocalIndex i, LocalIndex j) const {
  return view_.block(i.value, j.value, view_.rows - i.value, view_.cols - j.value);
}

AnyMatrix DistributedMatrix::diagonal(const Step& step) const {
  return view_.block(step.row.value, step.column.value, step.width(), step.width());
}

}  // namespace lupine
