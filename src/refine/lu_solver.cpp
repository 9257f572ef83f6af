#include "refine/lu_solver.hpp"

#include <algorithm>

namespace lupine {

LuSolver::LuSolver(Transport& transport, const DistributedMatrix& lu, std::int64_t width,
                   std::span<const std::int64_t> pivots, Trace* trace)
    : grid_(transport.grid()),
      device_(transport.device()),
      lu_(lu),
      plan_(lu.rows(), lu.columns(), width),
      trace_(trace),
      queue_(device_.make_queue(Priority::high)),
      owed_(device_.allocate(lu.rows().local_size() * std::int64_t{sizeof(double)})),
      solution_(device_.allocate(lu.columns().local_size() * std::int64_t{sizeof(double)})) {
  if (pivots.empty()) return;
  constexpr int tag = 2;  // beside those of the factorization
  exchange_.emplace(transport, width, 1, std::int64_t{sizeof(double)}, tag);
  for (std::int64_t k = 0; k < plan_.count(); ++k) {
    const Step s = plan_[k];
    const auto mine = pivots.subspan(static_cast<std::size_t>(s.begin.value),
                                     static_cast<std::size_t>(s.width()));
    moves_.emplace_back(device_, 2 * s.width())
        .set(*queue_, plan_row_moves(mine, s.begin, lu.rows()));
  }
}

std::vector<double> LuSolver::solve(std::span<const double> r) {
  std::vector<double> d(static_cast<std::size_t>(lu_.columns().local_size()), 0.0);
  const std::vector<double> zero(r.size(), 0.0);
  device_.upload(*queue_, d, solution_.as<double>());
  device_.upload(*queue_, grid_.me().column == 0 ? r : std::span<const double>(zero),
                 owed_.as<double>());
  const auto scope = [&](Activity activity) {
    return TraceScope(trace_, Track::solves, {.activity = activity});
  };
  // What each ends with waits for the queue, so that the host's clock tells its time.
  {
    const TraceScope lower = scope(Activity::solve_lower);
    sweep(Triangle::lower);  // y = L^-1 r
    device_.upload(*queue_, zero, owed_.as<double>());
  }
  {
    const TraceScope upper = scope(Activity::solve_upper);
    sweep(Triangle::upper);  // d = U^-1 y
    device_.download(*queue_, solution_.as<double>(), d);
  }
  return d;
}

// For each block k: d_k <- T_kk^-1 (d_k + owed_k);  owed_i -= T_ik d_k for the rows i to come.
void LuSolver::sweep(Triangle triangle) {
  const bool lower = triangle == Triangle::lower;
  for (std::int64_t i = 0; i < plan_.count(); ++i) {
    const Step s = plan_[lower ? i : plan_.count() - 1 - i];
    if (lower && exchange_) exchange_rows(s.index);
    double* owed = owed_.as<double>() + s.row.value;
    double* part = solution_.as<double>() + s.column.value;
    if (s.in_row) sum_to_owner(s, owed);
    if (s.owns_diagonal()) {
      device_.add(*queue_, s.width(), owed, part);
      lower ? device_.solve_lower(*queue_, Transpose::no, lu_.diagonal(s), part)
            : device_.solve_upper(*queue_, Transpose::no, lu_.diagonal(s), part);
    }
    if (!s.in_column) continue;
    send_down(s, part);
    const LocalIndex first = lower ? s.trailing_row : LocalIndex{0};
    const std::int64_t rows = lower ? lu_.rows().local_size() - first.value : s.row.value;
    device_.subtract_product(*queue_, Transpose::no,
                             lu_.from(first, s.column).block(0, 0, rows, s.width()), part,
                             owed_.as<double>() + first.value);
  }
}

// Every process column exchanges its part of what is owed: the sums of parts are exchanged so.
void LuSolver::exchange_rows(std::int64_t k) {
  const std::int64_t m = lu_.rows().local_size();
  exchange_->start(*queue_, moves_[static_cast<std::size_t>(k)],
                   MatrixView<double>{owed_.as<double>(), m, 1, std::max<std::int64_t>(m, 1)});
  while (!exchange_->test()) continue;
  exchange_->finish(*queue_);
}

void LuSolver::sum_to_owner(const Step& s, double* part) {
  if (grid_.row().size() == 1) return;
  message_.resize(static_cast<std::size_t>(s.width()));
  device_.download(*queue_, part, message_);
  grid_.row().reduce_sum(message_, s.owner_column);
  if (s.owns_diagonal()) device_.upload(*queue_, message_, part);
}

void LuSolver::send_down(const Step& s, double* part) {
  if (grid_.column().size() == 1) return;
  message_.resize(static_cast<std::size_t>(s.width()));
  if (s.owns_diagonal()) device_.download(*queue_, part, message_);
  grid_.column().broadcast(std::span<double>(message_), s.owner_row);
  if (!s.owns_diagonal()) device_.upload(*queue_, message_, part);
}

}  // namespace lupine
