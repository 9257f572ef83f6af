// SPDX-License-Identifier: BSD-3-Clause
#include "refine/lu_solver.hpp"

#include <algorithm>

#include "core/expects.hpp"
#include "matrix/wide_part.hpp"
#include "refine/pairs.hpp"
#include "refine/results.hpp"

namespace speedwell {

namespace {

constexpr int exchange_tag = 2;  // not one of the factorization's tags

}  // namespace

LuSolver::LuSolver(Transport& transport, const DistributedMatrix& lu, std::int64_t width,
                   std::span<const std::int64_t> pivots)
    : transport_(transport),
      grid_(transport.grid()),
      device_(transport.device()),
      lu_(lu),
      width_(width),
      steps_(lu.rows(), lu.columns(), width),
      pivots_(pivots),
      queue_(device_.make_queue(Priority::high)) {
  wide_ = device_.allocate(WidePart::bytes(lu.storage(), lu.rows().local_size(), width));
  prepare(Precision::fp64, 1);
  if (!pivots_.empty()) plan_moves(moves_, Exchanges::forward);
}

void LuSolver::plan_moves(std::vector<DeviceRowMoves>& moves, Exchanges exchanges) {
  for (std::int64_t k = 0; k < steps_.count(); ++k) {
    const Step s = steps_[k];
    const auto mine = pivots_.subspan(static_cast<std::size_t>(s.begin.value),
                                      static_cast<std::size_t>(s.width()));
    moves.emplace_back(device_, width_)
        .set(*queue_, plan_row_moves(mine, s.begin, lu_.rows(), exchanges));
  }
}

// Makes room for vectors of this precision. Memory is kept from solve to solve.
void LuSolver::prepare(Precision precision, std::int64_t vectors) {
  const std::int64_t count = parts() * vectors;
  device_.prepare(*queue_, {.width = parts() * width_,
                            .field = lu_.field(),
                            .permutes = !pivots_.empty(),
                            .substituted = count});
  const auto make = [&](Buffer& memory, std::int64_t entries) {
    const std::int64_t bytes = entries * count * bytes_of(precision);
    device_.reserve(memory, bytes);
    return AnyMatrix{precision, memory.data(), entries, count, std::max<std::int64_t>(entries, 1)};
  };
  of_rows_ = make(row_memory_, parts() * lu_.rows().local_size());
  of_columns_ = make(column_memory_, lu_.columns().local_size());
  make(piece_, parts() * width_);
  if (lu_.field() == Field::complex) solving_ = make(solving_memory_, width_);
  if (pivots_.empty()) return;
  const std::int64_t row_bytes = parts() * count * bytes_of(precision);
  if (row_bytes <= exchanged_bytes_) return;
  exchange_.emplace(transport_, Traffic::panels, width_, row_bytes, 1, exchange_tag);
  exchanged_bytes_ = row_bytes;
}

bool LuSolver::in_fp32(const MultiVector& r) const {
  return parts() * r.count() > Device::few_vectors && lu_.storage() != Precision::fp64;
}

AnyMatrix LuSolver::wide(AnyMatrix factors) {
  return WidePart(device_, *queue_, factors, wide_).values();
}

MultiVector LuSolver::solve(const MultiVector& r) {
  return in_fp32(r) ? solve_in<float>(r) : solve_in<double>(r);
}

MultiVector LuSolver::solve_transposed(const MultiVector& r) {
  return in_fp32(r) ? solve_transposed_in<float>(r) : solve_transposed_in<double>(r);
}

// The powers of two by which the vectors are divided in FP32; none in FP64.
template <class T>
Vector LuSolver::scales_of(const MultiVector& r, Layout layout) const {
  if (precision_of<T> == Precision::fp64) return {};
  Vector scales = VectorSpace(grid_, layout).largest(r);
  std::ranges::transform(scales, scales.begin(), power_above);
  return scales;
}

template <class T>
MultiVector LuSolver::solve_in(const MultiVector& r) {
  prepare(precision_of<T>, r.count());
  const Vector scales = scales_of<T>(r, Layout::rows);
  clear(of_columns_);
  grid_.me().column == 0 ? put<T>(with_zeros(lu_.field(), r), scales, of_rows_) : clear(of_rows_);
  // Each span ends when its work is done.
  {
    const auto lower = span(Activity::solve_lower);
    sweep(Triangle::unit_lower);  // Y = L^-1 R
    clear(of_rows_);
    queue_->synchronize();
  }
  const auto upper = span(Activity::solve_upper);
  sweep(Triangle::upper);  // D = U^-1 Y
  return from_planes(lu_.field(), get<T>(of_columns_, scales));
}

// `to` <- the vectors; in FP32 each is divided by its divisor.
template <class T>
void LuSolver::put(const MultiVector& v, const Vector& divisors, AnyMatrix to) {
  if constexpr (precision_of<T> == Precision::fp64)
    return device_.upload(*queue_, v.all(), to.as<double>().data);
  staged_.resize(v.all().size() * sizeof(T));
  const MatrixView<T> host{reinterpret_cast<T*>(staged_.data()), v.size(), v.count(), to.ld};
  for (std::int64_t k = 0; k < v.count(); ++k) {
    const double factor = 1 / divisors[static_cast<std::size_t>(k / parts())];
    std::ranges::transform(v[k], host.column(k),
                           [=](double value) { return static_cast<T>(value * factor); });
  }
  device_.upload(*queue_, std::span<const T>(host.data, v.all().size()),
                 reinterpret_cast<T*>(to.data));
}

// The vectors of `from`; in FP32 each is multiplied by its factor.
template <class T>
MultiVector LuSolver::get(AnyMatrix from, const Vector& factors) {
  MultiVector v(from.rows, from.columns);
  if constexpr (precision_of<T> == Precision::fp64) {
    download_results(grid_.all(), device_, *queue_, from.as<double>().data, v.all());
    return v;
  }
  staged_.resize(v.all().size() * sizeof(T));
  const std::span<T> host{reinterpret_cast<T*>(staged_.data()), v.all().size()};
  download_results(grid_.all(), device_, *queue_, reinterpret_cast<const T*>(from.data), host);
  for (std::int64_t k = 0; k < v.count(); ++k)
    std::transform(host.begin() + k * v.size(), host.begin() + (k + 1) * v.size(), v[k].begin(),
                   [factor = factors[static_cast<std::size_t>(k / parts())]](T value) {
                     return static_cast<double>(value) * factor;
                   });
  return v;
}

void LuSolver::clear(AnyMatrix to) {
  const std::int64_t bytes = to.rows * to.columns * bytes_of(to.precision);
  device_.clear(*queue_, {to.data, static_cast<std::size_t>(bytes)});
}

// T Y = Z for T = L (k ascending) or T = U (k descending), block by block; Z is D + owed:
//     D_k <- T_kk^-1 (D_k + owed_k),  owed_i <- owed_i - T_ik D_k for the blocks i still to come.
// With L, D begins as 0 and owed as R; with U, D begins as L^-1 P R and owed as 0.
void LuSolver::sweep(Triangle triangle) {
  const bool lower = triangle == Triangle::unit_lower;
  for (std::int64_t i = 0; i < steps_.count(); ++i) {
    const Step s = steps_[lower ? i : steps_.count() - 1 - i];
    if (lower && !moves_.empty()) exchange_rows(moves_[static_cast<std::size_t>(s.index)]);
    const AnyMatrix owed = of_rows(s.row.value, s.in_row ? s.width() : 0);
    const AnyMatrix part = of_columns(s.column.value, s.in_column ? s.width() : 0);
    if (s.in_row) sum_up(grid_.row(), s.owner_column, s, owed);
    if (s.owns_diagonal()) {
      add(Pairs::sums, owed, part);
      const AnyMatrix lu = wide(lu_.diagonal(s));
      lower ? device_.solve_lower(*queue_, Transpose::no, lu, part)
            : device_.solve_upper(*queue_, Transpose::no, lu, part);
    }
    if (!s.in_column) continue;
    share(grid_.column(), s.owner_row, s, part);
    const LocalIndex first = lower ? s.trailing_row : LocalIndex{0};
    const std::int64_t rows = lower ? lu_.rows().local_size() - first.value : s.row.value;
    device_.subtract_product(*queue_, Transpose::no,
                             wide(lu_.from(first, s.column).block(0, 0, rows, s.width())).real(),
                             part, of_rows(first.value, rows));
  }
}

template <class T>
MultiVector LuSolver::solve_transposed_in(const MultiVector& r) {
  if (!pivots_.empty() && undo_.empty()) plan_moves(undo_, Exchanges::undo);
  prepare(precision_of<T>, r.count());
  const Vector scales = scales_of<T>(r, Layout::columns);
  clear(of_rows_);
  grid_.me().row == 0 ? put<T>(in_planes(lu_.field(), r), scales, of_columns_) : clear(of_columns_);
  // Each span ends when its work is done.
  {
    const auto upper = span(Activity::solve_upper);
    sweep_transposed(Triangle::upper);
    clear(of_columns_);
    queue_->synchronize();
  }
  const auto lower = span(Activity::solve_lower);
  sweep_transposed(Triangle::unit_lower);
  return firsts(lu_.field(), get<T>(of_rows_, scales));
}

// T^T Y = Z for T = U (k ascending) or T = L (k descending), block by block; Z is D + owed:
//     D_k <- T_kk^-T (D_k + owed_k - sum_i T_ik^T D_i) for the blocks i of T's column k.
// With U, D begins as 0 and owed as R; with L, D begins as U^-T R and owed as 0, and the row
// exchanges of step k are undone after it, so that D ends as P^T L^-T U^-T R.
void LuSolver::sweep_transposed(Triangle triangle) {
  const bool lower = triangle == Triangle::unit_lower;
  for (std::int64_t i = 0; i < steps_.count(); ++i) {
    const Step s = steps_[lower ? steps_.count() - 1 - i : i];
    const AnyMatrix owed = of_columns(s.column.value, s.in_column ? s.width() : 0);
    const AnyMatrix part = of_rows(s.row.value, s.in_row ? s.width() : 0);
    if (s.in_column) {
      const LocalIndex first = lower ? s.trailing_row : LocalIndex{0};
      const std::int64_t rows = lower ? lu_.rows().local_size() - first.value : s.row.value;
      device_.subtract_product(*queue_, Transpose::yes,
                               wide(lu_.from(first, s.column).block(0, 0, rows, s.width())).real(),
                               of_rows(first.value, rows), owed);
      sum_up(grid_.column(), s.owner_row, s, owed);
    }
    if (s.owns_diagonal()) {
      const AnyMatrix lu = wide(lu_.diagonal(s));
      const auto solve = [&](AnyMatrix x) {
        lower ? device_.solve_lower(*queue_, Transpose::yes, lu, x)
              : device_.solve_upper(*queue_, Transpose::yes, lu, x);
      };
      if (lu_.field() == Field::real) {
        device_.add(*queue_, owed, part);
        solve(part);
      } else {
        const AnyMatrix planes = solving_.block(0, 0, s.width(), solving_.columns);
        device_.copy(*queue_, owed, planes);
        add(Pairs::value_alone, part, planes);
        solve(planes);
        device_.spread_pairs(*queue_, planes, part);
      }
    }
    if (s.in_row) share(grid_.row(), s.owner_column, s, part);
    if (lower && !undo_.empty()) exchange_rows(undo_[static_cast<std::size_t>(s.index)]);
  }
}

// to <- to + from, of vectors along rows to those along columns.
void LuSolver::add(Pairs pairs, AnyMatrix from, AnyMatrix to) {
  lu_.field() == Field::real ? device_.add(*queue_, from, to)
                             : device_.add_pairs(*queue_, pairs, from, to);
}

// Every process column exchanges the rows of its own part (or copy) of the vectors. The sum of the
// parts is then exchanged too.
void LuSolver::exchange_rows(const DeviceRowMoves& moves) {
  const AnyMatrix rows{of_rows_.precision, of_rows_.data,         of_rows_.rows / parts(),
                       of_rows_.columns,   of_rows_.ld / parts(), lu_.field()};
  exchange_->start(*queue_, moves, rows);
  {
    const auto wait = grid_.all().run().waiting("messages", grid_.column().watched());
    while (!exchange_->test()) continue;
  }
  exchange_->finish(*queue_);
}

// A contiguous copy of a block's vectors in device memory, for messages.
AnyMatrix LuSolver::piece(AnyMatrix part) {
  const std::int64_t bytes = part.rows * part.columns * bytes_of(part.precision);
  device_.reserve(piece_, bytes);
  return {part.precision, piece_.data(), part.rows, part.columns, part.rows};
}

Vector LuSolver::read(AnyMatrix part) {
  const AnyMatrix copy = piece(part);
  device_.copy(*queue_, part, copy);
  Vector entries(static_cast<std::size_t>(part.rows * part.columns));
  with_storage(copy, [&](const auto& values) {
    std::vector<std::remove_cvref_t<decltype(values(0, 0))>> host(entries.size());
    device_.download(*queue_, values.data, host);
    std::ranges::copy(host, entries.begin());
  });
  return entries;
}

void LuSolver::write(const Vector& entries, AnyMatrix part) {
  const AnyMatrix copy = piece(part);
  with_storage(copy, [&](const auto& values) {
    using T = std::remove_cvref_t<decltype(values(0, 0))>;
    std::vector<T> host(entries.size());
    std::ranges::transform(entries, host.begin(),
                           [](double value) { return static_cast<T>(value); });
    device_.upload(*queue_, host, values.data);
  });
  device_.copy(*queue_, copy, part);
}

// Adds up the parts of a block's vectors from all `ranks`, on the owner of the diagonal block.
void LuSolver::sum_up(const Communicator& ranks, int owner, const Step& s, AnyMatrix part) {
  if (ranks.size() == 1) return;
  Vector sums = read(part);
  ranks.reduce_sum(sums, owner);
  if (s.owns_diagonal()) write(sums, part);
}

// Broadcasts a block's vectors from the owner of the diagonal block to all `ranks`.
void LuSolver::share(const Communicator& ranks, int owner, const Step& s, AnyMatrix part) {
  if (ranks.size() == 1) return;
  Vector entries(static_cast<std::size_t>(part.rows * part.columns));
  if (s.owns_diagonal()) entries = read(part);
  ranks.broadcast(std::span<double>(entries), owner);
  if (!s.owns_diagonal()) write(entries, part);
}

}  // namespace speedwell
