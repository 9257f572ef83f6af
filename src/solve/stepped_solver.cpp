// SPDX-License-Identifier: BSD-3-Clause
#include "solve/stepped_solver.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "comm/agreement.hpp"
#include "core/numbers.hpp"
#include "device/cpu/thread_scope.hpp"
#include "refine/refinement.hpp"
#include "solve/sample.hpp"

namespace lupine {

namespace {

// The block size by which steps are predicted before one is chosen.
constexpr std::int64_t usual_nb = 512;

/// The benchmark, with pivoting, that needs the same memory and the same choices as a step of this
/// precision. plan() plans this benchmark for the step.
BenchmarkOptions problem(const SolveOptions& o, std::int64_t n, Precision precision) {
  return {.run = o.run,
          .benchmark = precision == Precision::fp64 ? Benchmark::hpl : Benchmark::mxp,
          .n = n,
          .precision = precision,
          .pivoting = Pivoting::partial,
          .max_iterations = o.max_iterations};
}

void check_options(const Communicator& all, const SolveOptions& o) {
  agree(all, [&] {
    if (!(o.tolerance >= 0 && o.tolerance < 1))
      throw UsageError(
          fmt::format("tolerance {} is not allowed; allowed: at least 0, below 1", o.tolerance));
  });
  require_equal_options(all, o);
}

}  // namespace

SteppedSolver::SteppedSolver(MPI_Comm comm, const Matrix& a, const SolveOptions& options,
                             const ProgressFunction& progress)
    : machine_(comm, options.run),
      source_(a),
      options_(options),
      progress_(progress),
      plan_(plan_steps()),
      first_(first_setup()) {}

void SteppedSolver::check(const RightHandSideSource& b) {
  const ThreadScope threads(machine_.threads());
  const StallWatch::Pause pause(machine_.stalls());
  b.check(all(), n());
  Vector x;
  b.prepare(grid(), n(), x);
  for (std::int64_t k = 0; k < b.count(); ++k) get(b, k);
}

void SteppedSolver::factor() {
  const ThreadScope threads(machine_.threads());
  const double begin = clock().now();
  load();
  const double loaded = clock().now();
  scales_ = equilibrate(grid(), machine_.device(), *a_, options_.equilibrate);
  judge_by_sample();
  load_seconds_ = loaded - begin;
  scale_seconds_ = clock().now() - loaded;
  if (!advance()) fail({});
}

Solution SteppedSolver::solve(const RightHandSideSource& b) {
  const ThreadScope threads(machine_.threads());
  b.check(all(), n());
  if (!factors_ && !restart()) fail({});
  Solution solution;
  b.prepare(grid(), n(), solution.x);
  solution.columns.resize(static_cast<std::size_t>(std::max<std::int64_t>(b.count(), 1)));
  for (SolveColumn& column : solution.columns)
    column.componentwise_error = std::numeric_limits<double>::infinity();
  std::vector<std::int64_t> left(solution.columns.size());
  std::iota(left.begin(), left.end(), 0);
  while (!attempt(b, left, solution) && advance()) continue;
  finish(solution);
  if (!solution.converged) fail(std::move(solution));
  return solution;
}

double SteppedSolver::tolerance() const {
  return options_.tolerance > 0 ? options_.tolerance : default_tolerance(n());
}

std::vector<PlannedStep> SteppedSolver::plan_steps() {
  check_options(all(), options_);
  source_.source().check(all());
  if (options_.precision != Precision::automatic) return {{options_.precision, 0}};
  std::vector<Precision> compared{Precision::bf16, Precision::fp16, Precision::fp32,
                                  Precision::fp64};
  // Emulated, FP16x3 is three products of FP32, and cannot be the faster one.
  if (options_.first == Precision::fp16x3 || machine_.native(Precision::fp16x3))
    compared.push_back(Precision::fp16x3);
  rates_ = update_rates(machine_, compared, n());
  const std::int64_t nb = options_.run.nb != 0 ? options_.run.nb : usual_nb;
  return planned_steps(
      {n(), std::min(nb, n()), machine_.facts().shape(), machine_.device().overlaps()}, rates_,
      options_.first);
}

// Drops the steps that a sample of A shows to be of no use; the last one stays, and so does a first
// one that the user named.
void SteppedSolver::judge_by_sample() {
  if (options_.precision != Precision::automatic) return;
  if (plan_.size() > 1) sampled_ = sampled_condition(grid(), machine_.device(), *a_, scales_);
  if (options_.first != Precision::automatic) return;
  while (plan_.size() > 1 && is_hopeless(plan_.front().precision, sampled_))
    plan_.erase(plan_.begin());
  // Ranks may remember rates of different dates.
  reason_ = text_of_rank_0(all(), rates_.text(plan_.front().precision));
  if (!std::isnan(sampled_))
    reason_ += fmt::format("; condition number of about {:.0e} by a sample of A", sampled_);
}

Setup SteppedSolver::first_setup() {
  const MatrixSource& source = source_.source();
  const std::int64_t n = source.n();
  const Distribution whole(n, n, 1, 0);
  const bool alone = all().size() == 1;
  const bool in_place =
      alone ? source.in_place(grid(), whole, whole).has_value() : source.block() > 0;
  SolveOptions options = options_;
  if (source.block() > 0 && !alone) options.run.nb = source.block();
  return plan(machine_, problem(options, n, plan_.front().precision),
              {.kept = in_place ? Kept::in_place : Kept::copy, .size = "n ="});
}

// The watch is paused: a user's function or a slow file system may take any time.
void SteppedSolver::load() {
  const StallWatch::Pause pause(machine_.stalls());
  a_.emplace(grid(), machine_.device(), source_.source(), first_.options.run.nb);
}

// A later step keeps the block size of the first, because A is distributed in these blocks already.
Setup SteppedSolver::setup_of(Precision precision) {
  if (precision == first_.options.precision) return first_;
  SolveOptions options = options_;
  options.run.nb = first_.options.run.nb;
  return plan(machine_, problem(options, n(), precision), {.size = "n ="});
}

// Goes on to the next step whose factors are usable; false if there is none.
bool SteppedSolver::advance() {
  while (!last()) {
    factors_.reset();
    at_ = next();
    if (factor_in(planned(at_).precision)) return true;
  }
  return false;
}

// Begins again with the first step. Called where the last step has left no usable factors.
bool SteppedSolver::restart() {
  at_ = -1;
  steps_.clear();
  return advance();
}

// Factors A in one precision. False if the factors do not fit into memory or are not usable.
// @throws SingularError if a pivot of FP64 factors is zero
bool SteppedSolver::factor_in(Precision precision) {
  SolveStep& step = steps_.emplace_back();
  step.precision = precision;
  Setup setup;
  try {
    setup = setup_of(precision);
  } catch (const UsageError& error) {  // on every rank: the factors do not fit beside A
    step.why = error.what();
    return false;
  }
  step.precision = setup.options.precision;
  ColumnsDone done;
  if (progress_ && all().rank() == 0)
    done = [this, begin = clock().now()](std::int64_t columns) {
      progress_({columns, n(), clock().now() - begin});
    };
  factors_ = std::make_unique<Factors>(machine_.transport(), *a_, scales_, setup, clock(), done);
  step.factor_seconds = all().all_reduce(factors_->seconds(), Reduction::max);
  const FactorOutcome& outcome = factors_->outcome();
  if (outcome.usable()) return true;
  step.bad_pivot = outcome.bad_pivot;
  const bool zero = factors_->zero_pivot();
  step.why = zero ? fmt::format("pivot {} of {} is zero", outcome.bad_pivot + 1, n())
                  : "numbers beyond the range of its factors";
  factors_.reset();
  if (zero && step.precision == Precision::fp64)
    throw SingularError(
        fmt::format("A is singular: pivot {} of {} is exactly zero (counted from 1)",
                    step.bad_pivot + 1, n()),
        step.bad_pivot);
  return false;
}

// Right-hand side k, whole; A times ones where none is given. @throws UsageError for Inf and NaN
Vector SteppedSolver::get(const RightHandSideSource& source, std::int64_t k) {
  Vector b(static_cast<std::size_t>(n()));
  if (source.count() > 0) {
    const StallWatch::Pause pause(machine_.stalls());
    source.get(grid(), k, b);
  } else {
    System plain(grid(), machine_.device(), held_matrix(a_->local()), a_->rows(), a_->columns());
    const Vector ones(static_cast<std::size_t>(a_->columns().local_size()), 1.0);
    b = VectorSpace(grid(), Layout::rows).gather(a_->rows(), plain.multiply(ones));
  }
  const auto bad = std::find_if(b.begin(), b.end(), [](double v) { return !std::isfinite(v); });
  if (bad != b.end())
    throw UsageError(fmt::format("b({}, {}) is {} (counted from 1); allowed are finite numbers",
                                 bad - b.begin() + 1, k + 1, *bad));
  return b;
}

// Solves for right-hand side k with the factors of the present step, and measures the errors.
Answer SteppedSolver::answer(const RightHandSideSource& source, std::int64_t k,
                             std::size_t right_hand_sides) {
  SolveStep& step = steps_.back();
  const Vector b = get(source, k);
  System& system = factors_->system();
  const double begin = clock().now();
  const int shift = exponent_of(b, scales_.rows);
  system.set_b(local_part(a_->rows(), scaled(b, scales_.rows, -shift)));
  refined_ = factors_->refine({.method = options_.refine,
                               .max_iterations = options_.max_iterations,
                               .stop = StopRule::componentwise,
                               .tolerance = options_.tolerance,
                               .worth = worth(right_hand_sides)});
  const double refined = clock().now();
  Answer found = measured(system, scales_, shift, b, refined_);
  found.column.precision = step.precision;
  found.column.converged = accepted(found);
  if (options_.condition && found.column.converged)
    found.column.forward_bound = forward_bound(*factors_, scales_, found.y, found.errors);
  step.iterations += refined_.iterations;
  step.refine_seconds += refined - begin;
  check_seconds_ += clock().now() - refined;
  return found;
}

// LU in FP64 guarantees a small normwise error of the scaled system, but not a small componentwise
// one; the same holds for LAPACK's dgesvx. So with FP64 factors and the default
// tolerance, a small normwise error is enough.
bool SteppedSolver::accepted(const Answer& found) {
  if (found.column.componentwise_error <= tolerance()) return true;
  const bool as_lapack = found.column.precision == Precision::fp64 && options_.tolerance == 0;
  return as_lapack && std::isfinite(found.column.componentwise_error) &&
         factors_->normwise_error(found.y, found.errors) <= tolerance();
}

// Solves for the right-hand sides in `left` in the present step, and keeps each x that is better
// than the one before. After the first that fails, the others wait for the next step's factors, if
// there is a next step. Returns whether the step is accepted.
bool SteppedSolver::attempt(const RightHandSideSource& b, std::vector<std::int64_t>& left,
                            Solution& solution) {
  std::vector<std::int64_t> unsolved;
  for (const std::int64_t k : left) {
    const bool waits = !unsolved.empty() && !last();
    if (waits || !solve_one(b, k, left.size(), solution)) unsolved.push_back(k);
  }
  SolveStep& step = steps_.back();
  step.why = why_not(solution, unsolved);
  step.solved = step.why.empty();
  if (!unsolved.empty()) left = std::move(unsolved);
  return step.solved;
}

// Solves for right-hand side k, and keeps x if it is accepted or better than the one before.
bool SteppedSolver::solve_one(const RightHandSideSource& b, std::int64_t k,
                              std::size_t right_hand_sides, Solution& solution) {
  SolveColumn& best = solution.columns[static_cast<std::size_t>(k)];
  const Answer found = answer(b, k, right_hand_sides);
  const bool better = found.column.componentwise_error < best.componentwise_error;
  if (found.column.converged || better || best.precision == Precision::automatic) {
    b.put(grid(), k, found.x, solution.x);
    best = found.column;
  }
  return found.column.converged;
}

// Seconds that the corrections of one right-hand side are worth in the present step: its share of
// the next step's LU, whose predicted time is corrected by that of the present one.
double SteppedSolver::worth(std::size_t right_hand_sides) const {
  if (last()) return std::numeric_limits<double>::infinity();
  const double measured = steps_.back().factor_seconds;
  const double corrected = measured > 0 ? measured / planned(at_).seconds : 1;
  return planned(next()).seconds * corrected / static_cast<double>(right_hand_sides);
}

// The step after the present one. After a step in vain only one is left that cannot be in vain:
// the last. A step between is tried where the sample had already shown the present one's precision
// to be too low, which is_hopeless() allows to be tried.
std::ptrdiff_t SteppedSolver::next() const {
  if (at_ < 0) return 0;
  const bool expected = sampled_ * unit_roundoff(planned(at_).precision) > 1;
  return expected ? at_ + 1 : std::ssize(plan_) - 1;
}

// Why the step is not accepted; empty if it is. Low-precision factors may solve even with a
// singular A if b happens to allow it. So where A may be singular to working precision, the step is
// not accepted, and the pivots of the FP64 step decide.
std::string SteppedSolver::why_not(const Solution& solution,
                                   const std::vector<std::int64_t>& left) {
  if (!left.empty())
    return fmt::format(
        "componentwise backward error {:.2g}, allowed {:.2g}{}{}",
        solution.columns[static_cast<std::size_t>(left.front())].componentwise_error, tolerance(),
        refined_.forecast > 0 ? fmt::format(", {} more corrections forecast",
                                            std::isfinite(refined_.forecast)
                                                ? fmt::format("{:.0f}", refined_.forecast)
                                                : "endlessly many")
                              : "",
        left.size() > 1 ? fmt::format(" ({} right-hand sides left)", left.size()) : "");
  if (!options_.condition || last()) return "";
  const double begin = clock().now();
  const double condition = factors_->condition();
  check_seconds_ += clock().now() - begin;
  if (condition * eps < 1) return "";
  return "A may be singular";
}

void SteppedSolver::finish(Solution& solution) {
  solution.n = n();
  solution.converged = std::all_of(solution.columns.begin(), solution.columns.end(),
                                   [](const SolveColumn& c) { return c.converged; }) &&
                       !steps_.empty() && steps_.back().solved;
  solution.equilibrated = scales_.scales();
  solution.condition = unknown;
  if (factors_) {
    const double begin = clock().now();
    solution.norm_a = factors_->system().norm_a();
    if (options_.condition) solution.condition = factors_->condition();
    check_seconds_ += clock().now() - begin;
  }
  solution.load_seconds = load_seconds_;
  solution.seconds = scale_seconds_;
  for (const SolveStep& step : steps_)
    solution.seconds += step.factor_seconds + step.refine_seconds;
  solution.check_seconds = check_seconds_;
  solution.notes = first_.notes;
  solution.chosen = first_.options.run;
  solution.reason = reason_;
  solution.device = first_.machine.device;
  solution.panel_width = first_.panel_width;
  if (solution.condition * eps >= 1)
    solution.notes.push_back(fmt::format(
        "A is singular to working precision (condition number {:.2g}): no digit of x is "
        "certain",
        solution.condition));
  solution.steps = steps_;
  // The next solve() begins with the present factors.
  if (factors_) {
    SolveStep present;
    present.precision = steps_.back().precision;
    steps_ = {present};
  }
  load_seconds_ = scale_seconds_ = check_seconds_ = 0;
}

void SteppedSolver::fail(Solution best) {
  if (best.steps.empty()) best.steps = steps_;
  std::string words;
  for (const SolveStep& step : best.steps)
    if (!step.solved)
      words += fmt::format("{}{}: {}", words.empty() ? "" : "; ", name(step.precision), step.why);
  throw AccuracyError("no x of the accuracy that was asked for: " + words,
                      std::make_shared<const Solution>(std::move(best)));
}

}  // namespace lupine
