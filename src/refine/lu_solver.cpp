// SPDX-License-Identifier: BSD-3-Clause
#include "refine/lu_solver.hpp"

#include <algorithm>

namespace lupine {

LuSolver::LuSolver(Transport& transport, const DistributedMatrix& lu, std::int64_t width,
                   std::span<const std::int64_t> pivots, Trace* trace)
    : grid_(transport.grid()),
      device_(transport.device()),
      lu_(lu),
      plan_(lu.rows(), lu.columns(), width),
      pivots_(pivots.begin(), pivots.end()),
      trace_(trace),
      queue_(device_.make_queue(Priority::high)),
      of_rows_(device_.allocate(lu.rows().local_size() * std::int64_t{sizeof(double)})),
      of_columns_(device_.allocate(lu.columns().local_size() * std::int64_t{sizeof(double)})) {
  if (pivots.empty()) return;
  constexpr int tag = 2;  // not one of the factorization's tags
  exchange_.emplace(transport, Traffic::panels, width, 1, std::int64_t{sizeof(double)}, tag);
  plan_moves(moves_, Exchanges::forward);
}

void LuSolver::plan_moves(std::vector<DeviceRowMoves>& moves, Exchanges exchanges) {
  for (std::int64_t k = 0; k < plan_.count(); ++k) {
    const Step s = plan_[k];
    const auto mine = std::span(pivots_).subspan(static_cast<std::size_t>(s.begin.value),
                                                 static_cast<std::size_t>(s.width()));
    moves.emplace_back(device_, 2 * s.width())
        .set(*queue_, plan_row_moves(mine, s.begin, lu_.rows(), exchanges));
  }
}

Vector LuSolver::solve(const Vector& r) {
  Vector d(static_cast<std::size_t>(lu_.columns().local_size()), 0.0);
  const Vector zero(r.size(), 0.0);
  device_.upload(*queue_, d, of_columns_.as<double>());
  device_.upload(*queue_, grid_.me().column == 0 ? r : zero, of_rows_.as<double>());
  const auto scope = [&](Activity activity) {
    return TraceScope(trace_, Track::solves, {.activity = activity});
  };
  // upload() and download() wait for the queue, so each scope ends when its work is done.
  {
    const TraceScope lower = scope(Activity::solve_lower);
    sweep(Triangle::lower);  // y = L^-1 r
    device_.upload(*queue_, zero, of_rows_.as<double>());
  }
  {
    const TraceScope upper = scope(Activity::solve_upper);
    sweep(Triangle::upper);  // d = U^-1 y
    device_.download(*queue_, of_columns_.as<double>(), d);
  }
  return d;
}

// T y = z for T = L (k ascending) or T = U (k descending), block by block; z is d + owed:
//     d_k <- T_kk^-1 (d_k + owed_k),  owed_i <- owed_i - T_ik d_k for the blocks i still to come.
// With L, d begins as 0 and owed as r; with U, d begins as L^-1 P r and owed as 0.
void LuSolver::sweep(Triangle triangle) {
  const bool lower = triangle == Triangle::lower;
  for (std::int64_t i = 0; i < plan_.count(); ++i) {
    const Step s = plan_[lower ? i : plan_.count() - 1 - i];
    if (lower && exchange_) exchange_rows(moves_[static_cast<std::size_t>(s.index)]);
    double* owed = of_rows_.as<double>() + s.row.value;
    double* part = of_columns_.as<double>() + s.column.value;
    if (s.in_row) sum_up(grid_.row(), s.owner_column, s, owed);
    if (s.owns_diagonal()) {
      device_.add(*queue_, s.width(), owed, part);
      lower ? device_.solve_lower(*queue_, Transpose::no, lu_.diagonal(s), part)
            : device_.solve_upper(*queue_, Transpose::no, lu_.diagonal(s), part);
    }
    if (!s.in_column) continue;
    share(grid_.column(), s.owner_row, s, part);
    const LocalIndex first = lower ? s.trailing_row : LocalIndex{0};
    const std::int64_t rows = lower ? lu_.rows().local_size() - first.value : s.row.value;
    device_.subtract_product(*queue_, Transpose::no,
                             lu_.from(first, s.column).block(0, 0, rows, s.width()), part,
                             of_rows_.as<double>() + first.value);
  }
}

Vector LuSolver::solve_transposed(const Vector& r) {
  if (exchange_ && undo_.empty()) plan_moves(undo_, Exchanges::undo);
  Vector d(static_cast<std::size_t>(lu_.rows().local_size()), 0.0);
  const Vector zero(r.size(), 0.0);
  device_.upload(*queue_, d, of_rows_.as<double>());
  device_.upload(*queue_, grid_.me().row == 0 ? r : zero, of_columns_.as<double>());
  sweep_upper_transposed();
  device_.upload(*queue_, zero, of_columns_.as<double>());
  sweep_lower_transposed();
  device_.download(*queue_, of_rows_.as<double>(), d);
  return d;
}

// U^T y = r, k ascending: y_k <- U_kk^-T owed_k,  owed_j <- owed_j - U_kj^T y_k for j > k, where
// owed begins as r.
void LuSolver::sweep_upper_transposed() {
  for (std::int64_t k = 0; k < plan_.count(); ++k) {
    const Step s = plan_[k];
    double* owed = of_columns_.as<double>() + s.column.value;
    double* part = of_rows_.as<double>() + s.row.value;
    if (s.in_column) sum_up(grid_.column(), s.owner_row, s, owed);
    if (s.owns_diagonal()) {
      device_.add(*queue_, s.width(), owed, part);
      device_.solve_upper(*queue_, Transpose::yes, lu_.diagonal(s), part);
    }
    if (!s.in_row) continue;
    share(grid_.row(), s.owner_column, s, part);
    const std::int64_t columns = lu_.columns().local_size() - s.trailing_column.value;
    device_.subtract_product(*queue_, Transpose::yes,
                             lu_.from(s.row, s.trailing_column).block(0, 0, s.width(), columns),
                             part, of_columns_.as<double>() + s.trailing_column.value);
  }
}

// L^T z = y in place, k descending: y_k <- L_kk^-T (y_k - sum_{i>k} L_ik^T y_i); then the row
// exchanges of step k are undone. The result is P^T z.
void LuSolver::sweep_lower_transposed() {
  for (std::int64_t k = plan_.count() - 1; k >= 0; --k) {
    const Step s = plan_[k];
    double* owed = of_columns_.as<double>() + s.column.value;
    double* part = of_rows_.as<double>() + s.row.value;
    if (s.in_column) {
      const std::int64_t rows = lu_.rows().local_size() - s.trailing_row.value;
      device_.subtract_product(*queue_, Transpose::yes,
                               lu_.from(s.trailing_row, s.column).block(0, 0, rows, s.width()),
                               of_rows_.as<double>() + s.trailing_row.value, owed);
      sum_up(grid_.column(), s.owner_row, s, owed);
    }
    if (s.owns_diagonal()) {
      device_.add(*queue_, s.width(), owed, part);
      device_.solve_lower(*queue_, Transpose::yes, lu_.diagonal(s), part);
    }
    if (s.in_row) share(grid_.row(), s.owner_column, s, part);
    if (exchange_) exchange_rows(undo_[static_cast<std::size_t>(k)]);
  }
}

// Every process column exchanges the rows of its own part (or copy) of the vector. The sum of the
// parts is then exchanged too.
void LuSolver::exchange_rows(const DeviceRowMoves& moves) {
  const std::int64_t m = lu_.rows().local_size();
  exchange_->start(*queue_, moves,
                   MatrixView<double>{of_rows_.as<double>(), m, 1, std::max<std::int64_t>(m, 1)});
  {
    const StallWatch::Waiting waiting(grid_.all().stalls(), "messages", grid_.column().watched());
    while (!exchange_->test()) continue;
  }
  exchange_->finish(*queue_);
}

// Adds up the parts of a block's vector from all `ranks`, on the owner of the diagonal block.
void LuSolver::sum_up(const Communicator& ranks, int owner, const Step& s, double* part) {
  if (ranks.size() == 1) return;
  message_.resize(static_cast<std::size_t>(s.width()));
  device_.download(*queue_, part, message_);
  ranks.reduce_sum(message_, owner);
  if (s.owns_diagonal()) device_.upload(*queue_, message_, part);
}

// Broadcasts a block's vector from the owner of the diagonal block to all `ranks`.
void LuSolver::share(const Communicator& ranks, int owner, const Step& s, double* part) {
  if (ranks.size() == 1) return;
  message_.resize(static_cast<std::size_t>(s.width()));
  if (s.owns_diagonal()) device_.download(*queue_, part, message_);
  ranks.broadcast(std::span<double>(message_), owner);
  if (!s.owns_diagonal()) device_.upload(*queue_, message_, part);
}

}  // namespace lupine
