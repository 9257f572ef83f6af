// SPDX-License-Identifier: BSD-3-Clause
#include "setup/product_trial.hpp"

#include <algorithm>
#include <cmath>

#include "core/fastest.hpp"
#include "matrix/distributed_matrix.hpp"
#include "matrix/panel_ring.hpp"

namespace speedwell {

namespace {
// C has the leading dimension of a run's matrix: columns a power of two apart would evict each
// other from the caches.
std::int64_t matrix_ld(std::int64_t rows) {
  return DistributedMatrix::leading_dimension(rows);
}
}  // namespace

ProductTrial::ProductTrial(Device& device, Product product, Precision precision, std::int64_t rows,
                           std::int64_t columns, std::int64_t width)
    : device_(device),
      product_(product),
      queue_(device.make_queue(Priority::normal)),
      storage_(storage_for(precision)),
      c_memory_(device.allocate(
          std::max(matrix_ld(rows) * std::max(columns, width), matrix_ld(width) * columns) *
          bytes_of(storage_))),
      l_memory_(device.allocate(PanelRing::leading_dimension(rows) * width * bytes_of(precision))),
      u_memory_(
          device.allocate(PanelRing::leading_dimension(width) * columns * bytes_of(precision))),
      control_(device.allocate(2 * control_room + std::int64_t{sizeof(FactorStatus)})),
      c_(as_c(rows, columns)),
      l_{precision, l_memory_.data(), rows, width, PanelRing::leading_dimension(rows)},
      u_{precision, u_memory_.data(), width, columns, PanelRing::leading_dimension(width)} {
  device_.prepare(*queue_, {.width = width,
                            .purpose = precision,
                            .updated_rows = product == Product::update ? rows : 0,
                            .updated_columns = columns});
  // L, U and C are not zero: products of zeros take less power, and so run faster than real ones.
  fill(rows, width);
  device_.cast(*queue_, as_c(rows, width), 1, l_, l_control(), status());
  fill(width, columns);
  device_.cast(*queue_, as_c(width, columns), -1, u_, u_control(), status());
  fill(rows, columns);
  run();
}

double ProductTrial::rate(const Clock& clock, double seconds, int least) {
  return flops() / fastest(
                       clock, seconds, [this] { run(); }, least);
}

double ProductTrial::flops() const {
  return 2 * static_cast<double>(c_.rows * c_.columns) * static_cast<double>(l_.columns);
}

void ProductTrial::run() {
  if (product_ == Product::update)
    device_.update(*queue_, l_, l_control(), u_, u_control(), c_, {});
  else
    device_.subtract(*queue_, l_, u_, c_);
  queue_->synchronize();
}

AnyMatrix ProductTrial::as_c(std::int64_t rows, std::int64_t columns) const {
  return {storage_, c_memory_.data(), rows, columns, matrix_ld(rows)};
}

PanelControl* ProductTrial::l_control() const {
  return control_.as<PanelControl>();
}

PanelControl* ProductTrial::u_control() const {
  return reinterpret_cast<PanelControl*>(control_.data() + control_room);
}

FactorStatus* ProductTrial::status() const {
  return reinterpret_cast<FactorStatus*>(control_.data() + 2 * control_room);
}

// Fills C's memory with blocks that are no wider than high. The generator gives the columns of a
// wide block beyond its rows no diagonal.
void ProductTrial::fill(std::int64_t rows, std::int64_t columns) {
  MatrixSpec spec;
  spec.n = std::max(rows, columns);
  spec.stride = spec.n + 1 - spec.n % 2;
  spec.shift = std::sqrt(static_cast<double>(spec.n));
  for (std::int64_t j = 0; j < columns; j += rows) {
    const std::int64_t count = std::min(rows, columns - j);
    device_.generate(*queue_, spec, Distribution(rows, rows, 1, 0),
                     Distribution(count, count, 1, 0),
                     as_c(rows, columns).block(0, j, rows, count));
  }
}

}  // namespace speedwell
