#include "solve/user_matrix.hpp"

#include <algorithm>
#include <vector>

#include "setup/agreement.hpp"

namespace lupine {

namespace {

constexpr std::int64_t piece_bytes = std::int64_t{64} << 20;

// By pieces of columns that have the leading dimension of the copy.
void upload(Device& device, MatrixView<const double> from, MatrixView<double> to) {
  const auto queue = device.make_queue(Priority::normal);
  const std::int64_t column_bytes = std::max<std::int64_t>(to.ld, 1) * std::int64_t{sizeof(double)};
  const std::int64_t columns = std::max<std::int64_t>(piece_bytes / column_bytes, 1);
  std::vector<double> piece;
  for (std::int64_t j = 0; j < from.cols; j += columns) {
    const std::int64_t count = std::min(columns, from.cols - j);
    piece.assign(static_cast<std::size_t>(to.ld * count), 0.0);
    for (std::int64_t c = 0; c < count; ++c)
      std::copy_n(from.column(j + c), from.rows, piece.data() + c * to.ld);
    device.upload(*queue, piece, to.column(j));
  }
}

}  // namespace

UserMatrix::UserMatrix(const ProcessGrid& grid, Device& device, const MatrixSource& source,
                       std::int64_t nb)
    : rows_(grid.rows(source.n(), nb)), columns_(grid.columns(source.n(), nb)) {
  const auto there = source.in_place(grid, rows_, columns_);
  if (there && device.shares_host_memory()) {
    local_ = *there;
    return;
  }
  agree(grid.all(), [&] { copy_.emplace(device, rows_, columns_, Precision::fp64); });
  local_ = copy_->local();
  if (there)
    agree(grid.all(), [&] { upload(device, *there, copy_->local().as<double>()); });
  else
    fill(grid, device, source);
}

// By way of host memory where the device has memory of its own.
void UserMatrix::fill(const ProcessGrid& grid, Device& device, const MatrixSource& source) {
  const auto copy = copy_->local().as<double>();
  if (device.shares_host_memory()) {
    source.fill(grid, rows_, columns_, copy);
    return;
  }
  auto host = agreed(grid.all(), [&] {
    return std::vector<double>(static_cast<std::size_t>(copy.rows * copy.cols));
  });
  const MatrixView<double> whole{host.data(), copy.rows, copy.cols,
                                 std::max<std::int64_t>(copy.rows, 1)};
  source.fill(grid, rows_, columns_, whole);
  agree(grid.all(), [&] { upload(device, whole, copy); });
}

}  // namespace lupine
