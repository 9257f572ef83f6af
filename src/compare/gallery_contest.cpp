// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>
#include <speedwell/matrix.hpp>
#include <speedwell/solution.hpp>

#include <algorithm>
#include <complex>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "comm/agreement.hpp"
#include "compare/contest.hpp"
#include "compare/gallery_residual.hpp"
#include "compare/known_system.hpp"
#include "compare/lapack_run.hpp"
#include "core/expects.hpp"
#include "device/device.hpp"
#include "generate/gallery.hpp"
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
    if (std::ranges::find(setup.notes, note) == setup.notes.end())
      text += (text.empty() ? "" : "; ") + note;
  return text;
}

class GalleryContest final : public Contest {
 public:
  GalleryContest(const Communicator& world, const CompareOptions& who,
                 const BenchmarkOptions& options);

 private:
  void enter_solve(const Machine& machine, std::optional<Accuracy> accuracy);
  /// Computes A at the first round, and keeps it for the later ones where memory allows.
  void prepare() override;
  Turn take_turn(Accuracy accuracy);
  DenseSystem dense_system() const override { return system_; }
  /// Memory for A.
  Buffer room() const { return host_->allocate(8 * system_.rows() * comparison_.n); }
  MatrixView<double> view(const Buffer& a) const {
    return {a.as<double>(), system_.rows(), comparison_.n, system_.rows()};
  }

  BenchmarkOptions options_;  // as they were given
  bool x_is_known_;
  std::unique_ptr<Device> host_;
  DenseSystem system_;  // on rank 0 complete from the first round on: a too large one is never made
  Buffer kept_;         // A, on rank 0; or empty
};

GalleryContest::GalleryContest(const Communicator& world, const CompareOptions& who,
                               const BenchmarkOptions& options)
    : Contest(world, who.monitor),
      options_(options),
      x_is_known_(who.accuracy),
      host_(make_device({.kind = DeviceKind::cpu, .threads = 1})) {
  SPEEDWELL_EXPECTS(who.gallery.has_value());
  comparison_.n = options.n;
  comparison_.rhs = who.rhs > 0 ? who.rhs : options.n;
  comparison_.gallery = who.gallery;
  SPEEDWELL_EXPECTS(!who.accuracy || comparison_.rhs == 1);
  system_ = {.n = comparison_.n,
             .rhs = comparison_.rhs,
             .field = comparison_.field(),
             .threshold = options.threshold,
             .may_fall_back = true};
  {
    const Machine machine(world.handle(), options_.run);
    run_on(machine);
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
        enter_solve(machine, {});
  }
  require_solver();
}

void GalleryContest::enter_solve(const Machine& machine, std::optional<Accuracy> accuracy) {
  ComparedSolver entry{
      .solver = SolverKind::solve, .accuracy = accuracy, .precision = Precision::automatic};
  BenchmarkOptions first = options_;
  first.precision = Precision::automatic;
  first.pivoting = Pivoting::partial;
  const int node_ranks = world_.split_node().size();
  try {
    check_problem(first);
    LuRequest request = request_of(first);
    request.kept = world_.size() == 1 ? Kept::in_place : Kept::copy;
    request.field = system_.field;
    setup_ = {first, plan(machine, request)};
    entry.nb = setup_.run.nb;
    entry.precision = setup_.lu.precision;
    on_rank_0(world_, [&] { entry.skipped = solve_obstacle(setup_, comparison_.rhs, node_ranks); });
    entry.skipped = text_of_rank_0(world_, std::move(entry.skipped));
  } catch (const UsageError& error) {
    entry.skipped = error.what();
  }
  // The step that solves is known afterwards.
  enter(std::move(entry), [this, i = comparison_.solvers.size(), accuracy] {
    Turn turn = take_turn(accuracy.value_or(Accuracy::automatic));
    if (!turn.steps.empty()) comparison_.solvers[i].precision = turn.steps.back().precision;
    return turn;
  });
}

// Makes the system, and keeps A unless that would leave too little memory to a solver of
// LAPACK. (speedwell::solve() reads A where it lies.)
void GalleryContest::prepare() {
  on_rank_0(world_, [&] {
    if (system_.fill) return;
    const ThreadScope scope(threads_);
    const std::int64_t n = comparison_.n;
    if (x_is_known_) {
      const auto known = std::make_shared<KnownSystem>(*comparison_.gallery, n, options_.seed);
      system_.fill = [=](MatrixView<double> a) { known->fill(a); };
      system_.right_hand_sides = [b = known->right_hand_side()] { return b; };
      system_.solution = known->solution();
    } else {
      const auto made = std::make_shared<GallerySystem>(*comparison_.gallery, n, options_.seed);
      system_.fill = [=](MatrixView<double> a) { made->fill(a); };
      system_.right_hand_sides = [=, rhs = comparison_.rhs] { return made->right_hand_sides(rhs); };
      system_.residual = [=, rows = system_.rows()](const std::vector<double>& x) {
        return gallery_residual(*made, {x.data(), rows, std::ssize(x) / rows, rows});
      };
    }
    double most = 0;
    for (const ComparedSolver& one : comparison_.solvers)
      if (const auto driver = traits(one.solver).lapack; driver && one.skipped.empty())
        most = std::max(most, lapack_bytes(*driver, n, comparison_.rhs, system_.field));
    if (bytes_of_a(n, system_.field) + most > free_bytes()) return;
    Buffer memory = room();
    system_.fill(view(memory));
    kept_ = std::move(memory);
    system_.fill = [this](MatrixView<double> a) {
#pragma omp parallel for schedule(static)
      for (std::int64_t j = 0; j < a.columns; ++j)
        std::copy_n(view(kept_).column(j), a.rows, a.column(j));
    };
  });
}

// Also where A is not kept it is computed before the clock starts.
Turn GalleryContest::take_turn(Accuracy accuracy) {
  const std::int64_t n = comparison_.n;
  const std::int64_t rhs = comparison_.rhs;
  Buffer memory;
  std::vector<double> b;
  on_rank_0(world_, [&] {
    const ThreadScope scope(threads_);
    b = system_.right_hand_sides();
    if (kept_.data() != nullptr) return;
    memory = room();
    system_.fill(view(memory));
  });
  const double* const a = (kept_.data() != nullptr ? kept_ : memory).as<double>();
  const SolveOptions options{.run = options_.run,
                             .refine = options_.refine,
                             .max_iterations = options_.max_iterations,
                             .accuracy = accuracy};
  Solution s;
  world_.barrier();
  const double begin = clock_.now();
  Turn turn = solve_turn(
      [&] {
        using Complex = std::complex<double>;
        const bool real = system_.field == Field::real;
        const Matrix matrix =
            real ? Matrix::dense(n, a, n)
                 : Matrix::complex_dense(n, reinterpret_cast<const Complex*>(a), n);
        const auto* const complex_b = reinterpret_cast<const Complex*>(b.data());
        const RightHandSide sides = real ? RightHandSide::dense(rhs, b.data(), n)
                                         : RightHandSide::complex_dense(rhs, complex_b, n);
        return solve(world_.handle(), matrix, sides, options, {}, {}, run_);
      },
      s);
  turn.seconds = world_.all_reduce(clock_.now() - begin, Reduction::max);
  turn.check_seconds = s.check_seconds;
  turn.note = warnings(s, setup_);
  on_rank_0(world_, [&] {
    const ThreadScope scope(threads_);
    system_.judge(s.x, turn);
    if (!x_is_known_ || s.x.empty()) return;
    turn.bound = s.columns.front().forward_bound;
    turn.condition = s.condition;
  });
  return turn;
}

}  // namespace

std::unique_ptr<Contest> gallery_contest(const Communicator& world, const CompareOptions& who,
                                         const BenchmarkOptions& options) {
  return std::make_unique<GalleryContest>(world, who, options);
}

}  // namespace speedwell
