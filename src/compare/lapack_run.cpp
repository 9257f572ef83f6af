// SPDX-License-Identifier: BSD-3-Clause
#include "compare/lapack_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <complex>

#include "comm/agreement.hpp"
#include "core/expects.hpp"
#include "device/device.hpp"
#include "host/thread_scope.hpp"
#include "setup/memory.hpp"
#include "setup/sizing.hpp"

namespace speedwell {

namespace {

/// Stores LAPACK's outcome in the turn. Returns whether there is an x.
bool has_x(const LapackOutcome& outcome, const DenseSystem& system, Turn& turn) {
  if (outcome.info < 0) {
    turn.failure = fmt::format("argument {} is refused", -outcome.info);
  } else if (outcome.info > system.n) {
    turn.note =
        outcome.rcond < eps
            ? fmt::format("A is singular to working precision (rcond = {:.2g})", outcome.rcond)
            : "it does not vouch for x";
  } else if (outcome.info > 0) {
    turn.failure = fmt::format("pivot {} (from 0) is zero, A is singular (info = {})",
                               outcome.info - 1, outcome.info);
  } else if (outcome.iterations < 0) {
    (system.may_fall_back ? turn.note : turn.failure) = fmt::format(
        "gave up its refinement, and factored again in FP64 (iter = {})", outcome.iterations);
  }
  return outcome.info == 0 || outcome.info > system.n;
}

}  // namespace

double free_bytes() {
  constexpr std::int64_t blas_buffers = std::int64_t{256} << 20;
  return static_cast<double>(std::max<std::int64_t>(allocatable_memory() - blas_buffers, 0));
}

double lapack_bytes(LapackDriver driver, std::int64_t n, std::int64_t rhs, Field field) {
  const auto rows = static_cast<double>(n);
  const auto columns = static_cast<double>(rhs);
  return static_cast<double>(parts_of(field)) *
         (8 * rows * (rows + columns) + lapack_workspace(driver, rows, columns));
}

std::string lapack_obstacle(LapackDriver driver, std::int64_t n, std::int64_t rhs, double free,
                            Field field) {
  if (!has_lapack()) return "OpenBLAS was built without LAPACK";
  if (!has_lapack(driver, field))
    return "it is not in this OpenBLAS, whose LAPACK was built without XBLAS";
  const double needed = lapack_bytes(driver, n, rhs, field);
  if (needed <= free) return "";
  return fmt::format("it needs {} on one node, and {} are free", gibibytes(needed),
                     gibibytes(free));
}

ComparedSolver lapack_entry(const Communicator& world, SolverKind solver, std::int64_t n,
                            std::int64_t rhs, int threads, Field field) {
  SPEEDWELL_EXPECTS(traits(solver).lapack.has_value());
  const LapackDriver driver = *traits(solver).lapack;
  const bool mixed = driver == LapackDriver::dsgesv;
  ComparedSolver entry;
  entry.solver = solver;
  entry.field = field;
  entry.precision = mixed ? Precision::fp32 : Precision::fp64;
  entry.threads = threads;
  entry.ceiling = mixed ? "sgemm" : "dgemm";
  on_rank_0(world, [&] { entry.skipped = lapack_obstacle(driver, n, rhs, free_bytes(), field); });
  entry.skipped = text_of_rank_0(world, std::move(entry.skipped));
  return entry;
}

double largest_error(std::span<const double> x, std::span<const double> solution) {
  SPEEDWELL_EXPECTS(x.size() == solution.size());
  double error = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double difference = std::fabs(x[i] - solution[i]);
    if (!(difference <= error)) error = std::isnan(difference) ? HUGE_VAL : difference;
  }
  return error;
}

std::string residual_failure(double scaled_residual, double threshold) {
  if (threshold <= 0 || scaled_residual < threshold) return "";
  return fmt::format("residual {:.3g}, allowed is less than {:g}", scaled_residual, threshold);
}

void DenseSystem::judge(const std::vector<double>& x, Turn& turn) const {
  turn.x_is_known = !solution.empty();
  if (x.empty()) return;
  if (turn.x_is_known) {
    turn.error = largest_error(x, solution);
  } else if (turn.passed()) {
    turn.scaled_residual = residual(x);
    turn.failure = residual_failure(turn.scaled_residual, threshold);
  }
}

Turn lapack_run(LapackDriver driver, const DenseSystem& system, int threads,
                const RunContext& run) {
  const std::int64_t n = system.n;
  const ThreadScope scope(threads);
  const auto device = make_device({.kind = DeviceKind::cpu, .threads = threads});
  const std::int64_t rows = system.rows();
  const Buffer memory = device->allocate(rows * n * 8);
  const MatrixView<double> a{memory.as<double>(), rows, n, rows};
  system.fill(a);
  // Written before the clock starts, so that the workspace's pages are mapped, as those of A are.
  const std::int64_t bytes = parts_of(system.field) * lapack_workspace(driver, n, system.rhs);
  const Buffer workspace = device->allocate(bytes);
  std::fill_n(workspace.data(), bytes, std::byte{0});
  std::vector<double> x = system.right_hand_sides();

  const double begin = run.now();
  const auto solve = [&]<class T>(T* of_a, T* of_x) {
    return solve_by_lapack<T>(driver, {of_a, n, n, n}, {of_x, n, system.rhs, n},
                              {workspace.data(), static_cast<std::size_t>(bytes)});
  };
  const LapackOutcome outcome = run.stage(Activity::factorization, [&] {
    using Complex = std::complex<double>;
    return system.field == Field::real
               ? solve(a.data, x.data())
               : solve(reinterpret_cast<Complex*>(a.data), reinterpret_cast<Complex*>(x.data()));
  });
  Turn turn;
  turn.seconds = run.now() - begin;
  if (!has_x(outcome, system, turn)) x.clear();
  system.judge(x, turn);
  if (turn.x_is_known && !x.empty()) {
    turn.bound = outcome.forward_bound;
    turn.condition = 1 / outcome.rcond;
  }
  return turn;
}

}  // namespace speedwell
