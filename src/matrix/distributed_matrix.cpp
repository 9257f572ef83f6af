#include "matrix/distributed_matrix.hpp"

#include <utility>

namespace lupine {

DistributedMatrix::DistributedMatrix(Device& device, Distribution rows, Distribution columns)
    : rows_(std::move(rows)),
      columns_(std::move(columns)),
      memory_(device.allocate(leading_dimension(rows_.local_size()) * columns_.local_size() *
                              std::int64_t{sizeof(float)})),
      view_{memory_.as<float>(), rows_.local_size(), columns_.local_size(),
            leading_dimension(rows_.local_size())} {}

std::int64_t DistributedMatrix::leading_dimension(std::int64_t rows) {
  const std::int64_t line = 16;  // floats of a cache line
  const std::int64_t padded = (rows + line - 1) / line * line;
  return padded % 1024 == 0 ? padded + line : padded;
}

MatrixView<float> DistributedMatrix::from(LocalIndex i, LocalIndex j) const {
  return view_.block(i.value, j.value, view_.rows - i.value, view_.cols - j.value);
}

MatrixView<float> DistributedMatrix::diagonal(const Step& step) const {
  return view_.block(step.row.value, step.column.value, step.width(), step.width());
}

}  // namespace lupine
