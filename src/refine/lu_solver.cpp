#include "refine/lu_solver.hpp"

#include <algorithm>

namespace lupine {

LuSolver::LuSolver(const ProcessGrid& grid, Device& device, const DistributedMatrix& lu,
                   std::int64_t width)
    : grid_(grid),
      device_(device),
      lu_(lu),
      plan_(lu.rows(), lu.columns(), width),
      queue_(device.make_queue(Priority::high)),
      owed_(device.allocate(lu.rows().local_size() * std::int64_t{sizeof(double)})),
      solution_(device.allocate(lu.columns().local_size() * std::int64_t{sizeof(double)})) {}

std::vector<double> LuSolver::solve(std::span<const double> r) {
  std::vector<double> d(static_cast<std::size_t>(lu_.columns().local_size()), 0.0);
  const std::vector<double> zero(r.size(), 0.0);
  device_.upload(*queue_, d, solution_.as<double>());
  device_.upload(*queue_, grid_.me().column == 0 ? r : std::span<const double>(zero),
                 owed_.as<double>());
  sweep(Triangle::lower);  // y = L^-1 r
  device_.upload(*queue_, zero, owed_.as<double>());
  sweep(Triangle::upper);  // d = U^-1 y
  device_.download(*queue_, solution_.as<double>(), d);
  return d;
}

// For each block k: d_k <- T_kk^-1 (d_k + owed_k);  owed_i -= T_ik d_k for the rows i to come.
void LuSolver::sweep(Triangle triangle) {
  const bool lower = triangle == Triangle::lower;
  for (std::int64_t i = 0; i < plan_.count(); ++i) {
    const Step s = plan_[lower ? i : plan_.count() - 1 - i];
    double* owed = owed_.as<double>() + s.row.value;
    double* part = solution_.as<double>() + s.column.value;
    if (s.in_row) sum_to_owner(s, owed);
    if (s.owns_diagonal()) {
      device_.add(*queue_, s.width(), owed, part);
      lower ? device_.solve_lower(*queue_, lu_.diagonal(s), part)
            : device_.solve_upper(*queue_, lu_.diagonal(s), part);
    }
    if (!s.in_column) continue;
    send_down(s, part);
    const LocalIndex first = lower ? s.trailing_row : LocalIndex{0};
    const std::int64_t rows = lower ? lu_.rows().local_size() - first.value : s.row.value;
    device_.subtract_product(*queue_, lu_.from(first, s.column).block(0, 0, rows, s.width()), part,
                             owed_.as<double>() + first.value);
  }
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
