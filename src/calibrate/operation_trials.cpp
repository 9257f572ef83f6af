// SPDX-License-Identifier: BSD-3-Clause
#include "calibrate/operation_trials.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <utility>

#include "core/expects.hpp"
#include "matrix/distributed_matrix.hpp"
#include "matrix/panel_ring.hpp"

namespace speedwell {

namespace {

constexpr std::array storages{Precision::fp32, Precision::fp64};
constexpr std::int64_t widest_part = 4;    // panels have order / widest_part columns at most
constexpr std::int64_t field_orders = 4;   // columns of the random matrices, in orders
constexpr std::int64_t control_room = 64;  // bytes of each of PanelControl, FactorStatus, ...
constexpr std::int64_t least_columns = 8;  // of the smallest shapes
constexpr std::int64_t widest_leaf = 32;   // of a panel with pivoting
constexpr double off_diagonal = 1e-9;  // of triangles: many solves leave numbers as large as before

std::size_t index_of(Precision storage) {
  return storage == Precision::fp64 ? 1 : 0;
}

double product_of(std::int64_t a, std::int64_t b) {
  return static_cast<double>(a) * static_cast<double>(b);
}

/// Blocks of one shape at one place of a matrix after the other.
class Walk {
 public:
  Walk(AnyMatrix whole, std::int64_t rows, std::int64_t columns)
      : whole_(whole), rows_(rows), columns_(columns) {
    SPEEDWELL_EXPECTS(rows <= whole.rows && columns <= whole.columns);
  }
  AnyMatrix next() {
    const std::int64_t across = whole_.columns / columns_;
    const std::int64_t place = count_++ % (across * (whole_.rows / rows_));
    return whole_.block(place / across * rows_, place % across * columns_, rows_, columns_);
  }

 private:
  AnyMatrix whole_;
  std::int64_t rows_;
  std::int64_t columns_;
  std::int64_t count_ = 0;
};

}  // namespace

// Products in four precisions are nearly all of the work.
double OperationTrials::flops(std::int64_t order) {
  const auto n = static_cast<double>(order);
  return 5 * n * n * n;
}

// Two random matrices, two panels, and what the device expands of them.
double OperationTrials::bytes(std::int64_t order) {
  const double n = static_cast<double>(DistributedMatrix::leading_dimension(order));
  return (12 * field_orders + 12) * n * n + 1e6;
}

OperationTrials::OperationTrials(Device& device, std::int64_t order)
    : device_(device), order_(order), queue_(device.make_queue(Priority::normal)) {
  SPEEDWELL_EXPECTS(order >= least_order);
  const std::int64_t widest = order / widest_part;
  for (const Precision storage : storages) {
    const std::int64_t ld = DistributedMatrix::leading_dimension(order);
    fields_[index_of(storage)] = device.allocate(ld * field_orders * order * bytes_of(storage));
    triangles_[index_of(storage)] =
        device.allocate(PanelRing::leading_dimension(widest) * widest * bytes_of(storage));
    for (std::int64_t i = 0; i < field_orders; ++i) fill(storage, i);
  }
  const std::int64_t panel = std::max(PanelRing::leading_dimension(order) * widest,
                                      PanelRing::leading_dimension(widest) * order) *
                             bytes_of(Precision::fp64);
  left_ = device.allocate(panel);
  right_ = device.allocate(panel);
  vectors_ = device.allocate(2 * order * bytes_of(Precision::fp64));
  rows_ = device.allocate(2 * order * std::int64_t{sizeof(std::int64_t)});
  control_ = device.allocate(4 * control_room);
  device.clear(*queue_, {control_.data(), static_cast<std::size_t>(control_.bytes())});
  device.upload(*queue_, std::vector<double>(static_cast<std::size_t>(2 * order), 1e-3),
                vectors_.as<double>());
  for (const Precision p : {Precision::fp64, Precision::fp32, Precision::bf16, Precision::fp16})
    add_products(p);
  add_passes();
  for (const Precision storage : storages) {
    add_solves(storage);
    add_eliminations(storage);
    add_exchanges(storage);
    add_generations(storage);
    add_vector_products(storage);
  }
  for (const Precision p :
       {Precision::fp64, Precision::fp32, Precision::bf16, Precision::fp16, Precision::fp16x3})
    add_conversions(p);
}

bool OperationTrials::finite() const {
  FactorStatus now;
  device_.download(*queue_, status(), std::span(&now, 1));
  return now.nonfinite == 0;
}

template <class Operation>
OperationTrials::Repeat OperationTrials::repeat(Operation operation) const {
  return [queue = queue_.get(), operation](int times) mutable {
    for (int i = 0; i < times; ++i) operation();
    queue->synchronize();
  };
}

AnyMatrix OperationTrials::field(Precision storage) const {
  return {storage, fields_[index_of(storage)].data(), order_, field_orders * order_,
          DistributedMatrix::leading_dimension(order_)};
}

// Blocks of order_ columns, since the generator gives a wide block no diagonal beyond its rows.
void OperationTrials::fill(Precision storage, std::int64_t part) const {
  const Distribution all(order_, order_, 1, 0);
  device_.generate(*queue_, spec(MatrixKind::scaled_diagonal, order_), all, all,
                   field(storage).block(0, part * order_, order_, order_));
}

AnyMatrix OperationTrials::factor(const Buffer& memory, Precision precision, std::int64_t rows,
                                  std::int64_t columns) {
  return {precision, memory.data(), rows, columns, PanelRing::leading_dimension(rows)};
}

PanelControl* OperationTrials::l_control() const {
  return control_.as<PanelControl>();
}

PanelControl* OperationTrials::u_control() const {
  return reinterpret_cast<PanelControl*>(control_.data() + control_room);
}

FactorStatus* OperationTrials::status() const {
  return reinterpret_cast<FactorStatus*>(control_.data() + 2 * control_room);
}

// A diagonal block in the form that solves read.
AnyMatrix OperationTrials::triangle(Precision storage, std::int64_t n) const {
  const AnyMatrix block{storage, triangles_[index_of(storage)].data(), n, n,
                        PanelRing::leading_dimension(n)};
  const Distribution all(n, n, 1, 0);
  device_.generate(*queue_, spec(MatrixKind::fasi_higham, n), all, all, block);
  device_.prepare_diagonal(*queue_, block);
  return block;
}

MatrixSpec OperationTrials::spec(MatrixKind kind, std::int64_t n) const {
  MatrixSpec spec;
  spec.kind = kind;
  spec.n = n;
  spec.stride = n | 1;
  spec.shift = std::sqrt(static_cast<double>(n));
  spec.alpha = spec.beta = off_diagonal;
  return spec;
}

std::int64_t OperationTrials::over(std::int64_t part) const {
  return std::max(order_ / part, least_columns);
}

void OperationTrials::add(OperationKind kind, Precision precision, const Shape& s, double work,
                          std::function<Repeat()> prepare) {
  all_.push_back({kind, precision, work, static_cast<double>(s.rows),
                  static_cast<double>(s.columns), static_cast<double>(s.width),
                  std::move(prepare)});
}

// The trailing matrix as it shrinks, with panels of several widths; the own column, which is as
// wide as a panel; and, in storage precisions, the narrow products inside a panel with pivoting.
void OperationTrials::add_products(Precision precision) {
  const std::int64_t n = order_;
  std::vector<Shape> shapes{{n, n, over(4)},
                            {n, n, over(8)},
                            {n, n, over(32)},
                            {over(2), over(2), over(4)},
                            {over(2), over(2), over(8)},
                            {over(4), over(4), over(8)},
                            {over(4), n, over(8)},
                            {n, over(4), over(8)},
                            {over(8), over(8), over(32)},
                            {n, over(8), over(8)},
                            {n, over(32), over(32)}};
  const bool plain = precision == storage_for(precision);
  if (plain) shapes.push_back({n, over(64), over(64)});
  for (const Shape& s : shapes)
    add(OperationKind::product, precision, s, 2 * product_of(s.rows, s.columns * s.width),
        [=, this] {
          const AnyMatrix c = field(storage_for(precision));
          fill(c.precision, 0);  // numbers that products have not made larger
          const AnyMatrix l = factor(left_, precision, s.rows, s.width);
          const AnyMatrix u = factor(right_, precision, s.width, s.columns);
          device_.cast(*queue_, c.block(0, 0, l.rows, l.columns), 1, l, l_control(), status());
          device_.cast(*queue_, c.block(0, 0, u.rows, u.columns), -1, u, u_control(), status());
          return repeat([=, this, walk = Walk(c, s.rows, s.columns)]() mutable {
            device_.update(*queue_, l, l_control(), u, u_control(), walk.next(), {});
          });
        });
}

// The block row of U.
void OperationTrials::add_solves(Precision storage) {
  for (const auto& [n, k] : {std::pair{order_, over(4)},
                             {order_, over(8)},
                             {order_, over(32)},
                             {over(2), over(8)},
                             {over(4), over(8)},
                             {over(4), over(4)}})
    add(OperationKind::solve_left, storage, {1, n, k}, product_of(n, k * k),
        [=, this, n = n, k = k] {
          const ConstAnyMatrix lu = triangle(storage, k);
          return repeat([=, this, walk = Walk(field(storage), k, n)]() mutable {
            device_.solve_left_lower(*queue_, lu, walk.next(), storage, {});
          });
        });
}

// Columns of the leaf of a panel, which stays in the caches meanwhile. The pivot's row is that of a
// triangle: 1, and then small numbers.
void OperationTrials::add_eliminations(Precision storage) {
  for (const std::int64_t m : {order_, over(2), over(4), over(8)})
    for (const std::int64_t n : {std::int64_t{1}, std::int64_t{4}, widest_leaf / 2, widest_leaf})
      add(OperationKind::eliminate, storage, {m, n}, 2 * product_of(m, n), [=, this] {
        const AnyMatrix pivot{storage, triangles_[index_of(storage)].data(), 1, n, 1};
        std::vector<double> row(static_cast<std::size_t>(n), off_diagonal);
        row[0] = 1;
        const std::vector<float> narrow(row.begin(), row.end());
        if (storage == Precision::fp64)
          device_.upload(*queue_, row, pivot.as<double>().data);
        else
          device_.upload(*queue_, narrow, pivot.as<float>().data);
        const AnyMatrix rows = field(storage).block(0, 0, m, n);
        auto* next = reinterpret_cast<PivotCandidate*>(control_.data() + 3 * control_room);
        return repeat([=, this] { device_.eliminate(*queue_, pivot, rows, next); });
      });
}

// The first rows change places with rows that lie all over the matrix, in cache lines of their own.
void OperationTrials::add_exchanges(Precision storage) {
  for (const std::int64_t m : {std::int64_t{2}, over(32), over(16), over(8)})
    for (const std::int64_t n : {order_, over(4), over(8)})
      add(OperationKind::exchange, storage, {m, n}, product_of(m, n), [=, this] {
        const std::int64_t half = m / 2;
        std::vector<std::int64_t> from;
        for (std::int64_t i = 0; i < half; ++i) from.push_back(i);
        for (std::int64_t i = 0; i < half; ++i) from.push_back(half + i * ((order_ - half) / half));
        std::vector<std::int64_t> to = from;
        std::rotate(to.begin(), to.begin() + half, to.end());
        auto* indices = rows_.as<std::int64_t>();
        device_.upload(*queue_, from, indices);
        device_.upload(*queue_, to, indices + m);
        return repeat([=, this, walk = Walk(field(storage), order_, n)]() mutable {
          device_.permute_rows(*queue_, indices, indices + m, 2 * half, walk.next());
        });
      });
}

// Panels and chunks that are rounded for messages and products.
void OperationTrials::add_conversions(Precision to) {
  const Precision storage = storage_for(to);
  for (const auto& [m, n] : {std::pair{order_, over(4)},
                             {order_, over(8)},
                             {order_, over(32)},
                             {over(4), order_},
                             {over(8), order_},
                             {over(4), over(8)}})
    add(OperationKind::convert, to, {m, n}, product_of(m, n), [=, this, m = m, n = n] {
      return repeat([=, this, walk = Walk(field(storage), m, n)]() mutable {
        device_.cast(*queue_, walk.next(), -1, factor(left_, to, m, n), l_control(), status());
      });
    });
}

// HPL's matrix in FP64, and that of HPL-MxP in FP32.
void OperationTrials::add_generations(Precision storage) {
  for (const auto& [m, n] :
       {std::pair{order_, over(4)}, {over(2), over(4)}, {over(4), over(8)}, {over(4), over(4)}})
    add(OperationKind::generate, storage, {m, n}, product_of(m, n), [=, this, m = m, n = n] {
      const MatrixSpec matrix =
          spec(storage == Precision::fp64 ? MatrixKind::hpl : MatrixKind::scaled_diagonal, m);
      const Distribution rows(m, m, 1, 0);
      const Distribution columns(n, n, 1, 0);
      return repeat([=, this] {
        device_.generate(*queue_, matrix, rows, columns, factor(left_, storage, m, n));
      });
    });
}

void OperationTrials::add_passes() {
  for (const auto& [m, n] :
       {std::pair{order_, order_}, {over(2), over(2)}, {over(4), order_}, {order_, over(4)}})
    add(OperationKind::pass, Precision::fp64, {m, n}, product_of(m, n), [=, this, m = m, n = n] {
      const MatrixSpec matrix = spec(MatrixKind::scaled_diagonal, std::max(m, n));
      const Distribution rows(m, m, 1, 0);
      const Distribution columns(n, n, 1, 0);
      auto* x = vectors_.as<double>();
      return repeat([=, this] {
        device_.multiply_generated(*queue_, matrix, rows, columns, x, x + order_, nullptr, nullptr);
      });
    });
}

void OperationTrials::add_vector_products(Precision storage) {
  for (const auto& [m, n] : {std::pair{order_, over(4)},
                             {order_, over(8)},
                             {order_, over(32)},
                             {over(2), over(8)},
                             {over(4), over(8)},
                             {over(8), over(8)}})
    add(OperationKind::vector_product, storage, {m, n}, product_of(m, n), [=, this, m = m, n = n] {
      auto* x = vectors_.as<double>();
      return repeat([=, this, walk = Walk(field(storage), m, n)]() mutable {
        device_.subtract_product(*queue_, Transpose::no, walk.next(),
                                 MatrixView<const double>{x, n, 1, n},
                                 MatrixView<double>{x + order_, m, 1, m});
      });
    });
}

}  // namespace speedwell
