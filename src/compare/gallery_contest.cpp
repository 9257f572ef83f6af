// SPDX-License-Identifier: BSD-3-Clause
#include "compare/gallery_contest.hpp"

#include <fmt/format.h>
#include <speedwell/matrix.hpp>
#include <speedwell/solution.hpp>

#include <algorithm>
#include <complex>
#include <span>
#include <utility>

#include "comm/agreement.hpp"
#include "compare/gallery_residual.hpp"
#include "compare/lapack_run.hpp"
#include "core/expects.hpp"
#include "host/thread_scope.hpp"
#include "setup/footprint.hpp"
#include "setup/machine.hpp"
#include "setup/options_check.hpp"
#include "solve/attempt.hpp"
#include "solve/solver.hpp"

namespace speedwell {

namespace {

double bytes_of_a(std::int64_t n, Field field) {
  return static_cast<double>(8 * parts_of(field)) * static_cast<double>(n) * static_cast<double>(n);
}

/// Bytes of the vectors of right-hand sides that a rank refines together.
double vector_bytes(const LuPlan& lu, std::int64_t rhs) {
  const std::int64_t rows = lu.parts() * lu.rows().local_size();
  const std::int64_t columns = lu.parts() * lu.columns().local_size();
  return static_cast<double>(std::min(rhs, most_refined(rows, columns))) *
         refining_bytes(rows, columns);
}

/// Why speedwell::solve() does not fit beside A, b and x on rank 0's node; empty if it does.
/// @param ranks those on the node
std::string solve_obstacle(const LuSetup& setup, std::int64_t rhs, int ranks) {
  const LuPlan& lu = setup.lu;
  const auto columns = static_cast<double>(rhs);
  const double a_rank = (setup.machine.gpus.empty() ? rank_bytes(lu) : host_bytes(lu)) +
                        columns * sizeof(SolveColumn) + vector_bytes(lu, rhs);
  const double b_and_x = 16 * static_cast<double>(lu.parts() * lu.n) * columns;
  const double needed = bytes_of_a(lu.n, lu.field) + b_and_x + ranks * a_rank;
  if (needed <= free_bytes()) return "";
  return fmt::format("with A, b and x it needs {} on rank 0's node, and {} are free",
                     gibibytes(needed), gibibytes(free_bytes()));
}

/// What the solution warns of, a doubt first, beside the warnings of the setup.
std::string warnings(const Solution& solution, const Setup& setup) {
  std::string text = solution.doubt;
  for (const std::string& note : solution.notes)
    if (std::find(setup.notes.begin(), setup.notes.end(), note) == setup.notes.end())
      text += (text.empty() ? "" : "; ") + note;
  return text;
}

}  // namespace

GalleryContest::GalleryContest(const Communicator& world, const CompareOptions& who,
                               const BenchmarkOptions& options)
    : Contest(world, who.monitor),
      options_(options),
      host_(make_device({.kind = DeviceKind::cpu, .threads = 1})) {
  SPEEDWELL_EXPECTS(who.gallery.has_value());
  comparison_.n = options.n;
  comparison_.rhs = who.rhs > 0 ? who.rhs : options.n;
  comparison_.gallery = who.gallery;
  comparison_.by_accuracy = who.accuracy;
  SPEEDWELL_EXPECTS(!who.accuracy || comparison_.rhs == 1);
  {
    const Machine machine(world.handle(), options_.run);
    threads_ = machine.threads();
    setup_.options = options;
    setup_.machine = machine.facts();
    setup_.notes = setup_.machine.notes;
    setup_.machine.settle(setup_.options.run);
    for (const SolverKind solver : who.solvers)
      if (solver != SolverKind::solve)
        enter_lapack(solver);
      else if (who.accuracy)
        for (const Accuracy accuracy : {Accuracy::backward, Accuracy::forward})
          enter_solve(machine, accuracy);
      else
        enter_solve(machine);
  }
  require_solver();
}

void GalleryContest::enter_solve(const Machine& machine, std::optional<Accuracy> accuracy) {
  ComparedSolver entry;
  entry.solver = SolverKind::solve;
  entry.accuracy = accuracy;
  entry.field = field();
  entry.precision = Precision::automatic;
  entry.ranks = world_.size();
  entry.threads = machine.facts().run.threads;
  BenchmarkOptions first = options_;
  first.precision = Precision::automatic;
  first.pivoting = Pivoting::partial;
  const int node_ranks = world_.split_node().size();
  try {
    check_problem(first);
    LuRequest request = request_of(first);
    request.kept = world_.size() == 1 ? Kept::in_place : Kept::copy;
    request.field = field();
    setup_ = {first, plan(machine, request)};
    entry.nb = setup_.run.nb;
    entry.precision = setup_.lu.precision;
    on_rank_0(world_, [&] { entry.skipped = solve_obstacle(setup_, comparison_.rhs, node_ranks); });
    entry.skipped = text_of_rank_0(world_, std::move(entry.skipped));
  } catch (const UsageError& error) {
    entry.skipped = error.what();
  }
  comparison_.solvers.push_back(std::move(entry));
}

// Makes the system, and keeps A unless that would leave too little memory to a solver of
// LAPACK. (speedwell::solve() reads A where it lies.)
void GalleryContest::prepare() {
  const std::int64_t n = comparison_.n;
  double most = 0;
  for (const ComparedSolver& one : comparison_.solvers)
    if (const auto driver = lapack_driver(one.solver); driver && one.skipped.empty())
      most = std::max(most, lapack_bytes(*driver, n, comparison_.rhs, field()));
  on_rank_0(world_, [&] {
    if (system_ || known_) return;
    const ThreadScope scope(threads_);
    if (comparison_.by_accuracy) {
      known_.emplace(*comparison_.gallery, n, options_.seed);
      b_ = known_->right_hand_side();
    } else {
      system_.emplace(*comparison_.gallery, n, options_.seed);
    }
    if (bytes_of_a(n, field()) + most > free_bytes()) return;
    Buffer memory = host_->allocate(8 * rows() * n);
    fill({memory.as<double>(), rows(), n, rows()});
    kept_ = std::move(memory);
  });
}

// a <- A, on rank 0.
void GalleryContest::fill(MatrixView<double> a) const {
  const ThreadScope scope(threads_);
  if (kept_.data() == nullptr) return known_ ? known_->fill_rows(a) : system_->fill(a);
  const std::int64_t n = comparison_.n;
#pragma omp parallel for schedule(static)
  for (std::int64_t j = 0; j < n; ++j)
    std::copy_n(kept_.as<double>() + j * rows(), rows(), a.column(j));
}

std::vector<double> GalleryContest::right_hand_sides() const {
  if (known_) return b_;
  const ThreadScope scope(threads_);
  return system_->right_hand_sides(comparison_.rhs);
}

double GalleryContest::residual(const std::vector<double>& x) const {
  const ThreadScope scope(threads_);
  return gallery_residual(*system_, {x.data(), rows(), comparison_.rhs, rows()});
}

Turn GalleryContest::lapack_turn(LapackDriver driver) {
  LapackSystem system;
  system.n = comparison_.n;
  system.rhs = comparison_.rhs;
  system.field = field();
  system.threshold = options_.threshold;
  system.may_fall_back = true;
  system.fill = [this](MatrixView<double> a) { fill(a); };
  system.right_hand_sides = [this] { return right_hand_sides(); };
  system.residual = [this](const std::vector<double>& x) { return residual(x); };
  if (known_) system.solution = known_->solution();
  return lapack_run(driver, system, threads_, run_);
}

// Also where A is not kept it is computed before the clock starts.
Turn GalleryContest::speedwell_turn(std::size_t entry) {
  const std::int64_t n = comparison_.n;
  Buffer memory;
  on_rank_0(world_, [&] {
    if (kept_.data() != nullptr) return;
    memory = host_->allocate(8 * rows() * n);
    fill({memory.as<double>(), rows(), n, rows()});
  });
  const Buffer& a = kept_.data() != nullptr ? kept_ : memory;
  ComparedSolver& one = comparison_.solvers[entry];
  Turn turn = timed_solve(a.as<double>(), one.accuracy.value_or(Accuracy::automatic));
  if (!turn.steps.empty()) one.precision = turn.steps.back().precision;
  return turn;
}

Turn GalleryContest::timed_solve(const double* a, Accuracy accuracy) const {
  const std::int64_t n = comparison_.n;
  const std::int64_t rhs = comparison_.rhs;
  std::vector<double> b;
  on_rank_0(world_, [&] { b = right_hand_sides(); });
  const SolveOptions options{.run = options_.run,
                             .refine = options_.refine,
                             .max_iterations = options_.max_iterations,
                             .accuracy = accuracy};
  Turn turn;
  Solution s;
  world_.barrier();
  const double begin = clock_.now();
  try {
    using Complex = std::complex<double>;
    const bool real = field() == Field::real;
    const Matrix matrix = real ? Matrix::dense(n, a, n)
                               : Matrix::complex_dense(n, reinterpret_cast<const Complex*>(a), n);
    const RightHandSide sides =
        real ? RightHandSide::dense(rhs, b.data(), n)
             : RightHandSide::complex_dense(rhs, reinterpret_cast<const Complex*>(b.data()), n);
    s = solve(world_.handle(), matrix, sides, options, {}, {}, run_);
  } catch (const AccuracyError& error) {
    turn.failure = error.what();
    s = error.best();
  } catch (const SingularError& error) {
    turn.failure = error.what();
  }
  turn.seconds = world_.all_reduce(clock_.now() - begin, Reduction::max);
  turn.steps = s.steps;
  turn.refine_seconds = 0;
  for (const SolveStep& step : s.steps) turn.refine_seconds += step.refine_seconds;
  turn.check_seconds = s.check_seconds;
  turn.note = warnings(s, setup_);
  on_rank_0(world_, [&] { judge(s, turn); });
  return turn;
}

void GalleryContest::judge(const Solution& solution, Turn& turn) const {
  if (known_) {
    turn.accuracy.emplace();
    if (solution.x.empty()) return;
    turn.accuracy = {relative_error(solution.x, known_->solution()),
                     solution.columns.front().forward_bound, solution.condition};
  } else if (turn.passed()) {
    turn.scaled_residual = residual(solution.x);
    turn.failure = residual_failure(turn.scaled_residual, options_.threshold);
  }
}

}  // namespace speedwell
