// SPDX-License-Identifier: BSD-3-Clause
// The refinement of a benchmark's system, whose A and b are generated; and what a refinement needs.
#include <algorithm>
#include <cmath>
#include <utility>

#include "core/numbers.hpp"
#include "refine/gmres.hpp"
#include "refine/refinement.hpp"

namespace speedwell {

double default_tolerance(std::int64_t n) {
  // The smallest default tolerance is 4 eps: the residual itself has rounding errors of some eps.
  constexpr double least_growth = 4;
  return std::max(std::sqrt(static_cast<double>(n)), least_growth) * eps;
}

double refine_bytes(const LuPlan& plan) {
  constexpr double others = 18;  // vectors as long as the local rows or columns, beside GMRES's
  const double vectors = gmres_restart(plan.n, plan.grid) + others;
  const auto parts = static_cast<double>(plan.parts());
  const auto ends = static_cast<double>(plan.rows().local_size() + plan.columns().local_size());
  return 8 * parts * (vectors * ends + static_cast<double>(plan.n));
}

RefineOutcome refine(Transport& transport, const DistributedMatrix& lu,
                     std::span<const std::int64_t> pivots, const MatrixSpec& spec,
                     const RefineOptions& options) {
  System system(transport.grid(), transport.device(),
                generated_matrix(spec, lu.rows(), lu.columns()), lu.rows(), lu.columns());
  LuSolver solver(transport, lu, options.width, pivots);
  const MultiVector b(right_hand_side(spec, lu.rows()));
  return std::move(refine(system, solver, b, options).front());
}

Vector solve(Transport& transport, const DistributedMatrix& lu,
             std::span<const std::int64_t> pivots, const MatrixSpec& spec, std::int64_t width) {
  return LuSolver(transport, lu, width, pivots).solve(right_hand_side(spec, lu.rows()));
}

}  // namespace speedwell
