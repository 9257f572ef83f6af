// SPDX-License-Identifier: BSD-3-Clause
#include "solve/stepped_solver.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>
#include <utility>

#include "comm/agreement.hpp"
#include "comm/interruption.hpp"
#include "core/numbers.hpp"
#include "factor/reporter.hpp"
#include "host/lapack.hpp"
#include "host/thread_scope.hpp"
#include "solve/probe_seed.hpp"

namespace speedwell {

namespace {

constexpr int most_rotations = 8;  // of an A whose rotated LU has zero pivots
// A difference of exponents with which an entry, scaled by its row and its column, is still within
// FP64's digits of others.
constexpr int alike_scales = 26;

}  // namespace

SteppedSolver::SteppedSolver(CommHandle comm, const Matrix& a, const SolveOptions& options,
                             const ProgressFunction& progress, const RunHooks& hooks)
    : machine_(comm, options.run, std::make_unique<SteadyClock>(), hooks),
      source_(a),
      options_(options),
      progress_(progress),
      accuracy_(accuracy_on(machine_.device(), options.accuracy)),
      plan_(plan_attempts()),
      seed_(agreed_seed(all(), options.probe_seed)),
      first_(first_setup()) {}

void SteppedSolver::check(const RightHandSideSource& b) {
  const ThreadScope threads(machine_.threads());
  const auto pause = run().pause();
  check_sides(b, all(), source_.source());
  b.prepare(grid(), numbers(), x_);
  expected_ = std::max<std::int64_t>(b.count(), 1);
  b_read_.assign(static_cast<std::size_t>(expected_), std::nullopt);
  checked_ = true;
  if (!b.at_hand() || b.count() == 0) return;
  Vector values(static_cast<std::size_t>(numbers()));
  require_one(b.count(), [&](std::int64_t k) { return get(b, k, values); });
  // What solve() will read is conjugated.
  if (field() == Field::complex && source_.source().transposed()) b_read_.clear();
}

void SteppedSolver::factor() {
  const ThreadScope threads(machine_.threads());
  const double begin = run().now();
  load();
  const double loaded = run().now();
  scale(planned(0));
  judge_by_sample();
  load_seconds_ = loaded - begin;
  scale_seconds_ = run().now() - loaded;
  if (!advance()) fail({});
}

Precision SteppedSolver::precision() const {
  return factors_ ? steps_.back().precision : Precision::automatic;
}

ConditionEstimate SteppedSolver::condition(Transpose transpose) {
  const ThreadScope threads(machine_.threads());
  if (!factors_ && !restart()) fail({});
  return factors_->factored(a_->in_memory(transpose).transpose).inverse().condition();
}

Solution SteppedSolver::solve(const RightHandSideSource& given, Transpose transpose) {
  const ThreadScope threads(machine_.threads());
  const UserMatrix::InMemory system = a_->in_memory(transpose);
  const ConjugatedSides conjugated(given);
  const RightHandSideSource& b = system.conjugated ? conjugated : given;
  op_ = system.transpose;
  check_sides(b, all(), source_.source());
  if (!factors_ && !restart()) fail({});
  const ReuseVectors reuse;
  kept_.clear();
  forward_seconds_ = 0;
  Solution solution;
  solution.x = std::move(x_);
  b.prepare(grid(), numbers(), solution.x);
  const std::int64_t sides = std::max<std::int64_t>(b.count(), 1);
  if (!std::exchange(checked_, false)) b_read_.clear();
  b_read_.resize(static_cast<std::size_t>(sides));
  SolveColumn nothing;
  nothing.componentwise_error = std::numeric_limits<double>::infinity();
  for (int reads = -1; reads != reads_;) {
    reads = reads_;
    changed_.clear();
    stored_.emplace(sides);
    solution.columns.assign(static_cast<std::size_t>(sides), nothing);
    std::vector<std::int64_t> left(solution.columns.size());
    std::iota(left.begin(), left.end(), 0);
    while (!attempt(b, left, solution) && changed_.empty() && advance()) continue;
    if (changed_.empty()) require_stored(b, solution);
    if ((changed_.empty() ? read_again(seen_) : begin_again(changed_)) && !advance()) fail({});
  }
  finish(solution);
  require_stored(b, solution);
  if (!changed_.empty()) {
    steps_.back().why = changed_;
    fail({});
  }
  if (!solution.converged) fail(std::move(solution));
  return solution;
}

// Goes on to the next step whose factors are usable; false if there is none.
bool SteppedSolver::advance() {
  do {
    while (!last()) {
      factors_.reset();
      at_ = next();
      if (factor_in(planned(at_))) return true;
    }
  } while (read_again());
  return false;
}

// Begins again with the first step. Called where the last step has left no usable factors.
bool SteppedSolver::restart() {
  at_ = -1;
  steps_.clear();
  return advance();
}

// Factors A in one precision. False if the factors do not fit into memory or are not usable; then
// the next step may be one that was not planned before.
// @throws SingularError if A is singular by the pivots of FP64
bool SteppedSolver::factor_in(const Attempt& planned) {
  SolveStep& step = steps_.emplace_back();
  scale(planned);
  step.precision = planned.precision;
  step.rotated = planned.rotated;
  LuSetup setup;
  try {
    setup = setup_of(planned.precision);
    a_->set_block(setup.lu.nb);
  } catch (const UsageError& error) {  // on every rank: the factors do not fit beside A
    step.why = error.what();
    return false;
  }
  step.precision = setup.lu.precision;
  announce(setup);
  factors_ = run().stage(Activity::factorization, [&] {
    return std::make_unique<Factors>(machine_.transport(), *scaled_, setup.lu,
                                     planned.rotated ? rotations() : 0, seed_of_a_,
                                     reporter(all(), n(), progress_));
  });
  step.factor_seconds = all().all_reduce(factors_->seconds(), Reduction::max);
  lu_seconds_ = step.factor_seconds;
  step.growth = factors_->growth();
  const FactorOutcome& outcome = factors_->outcome();
  if (outcome.usable()) return true;
  step.bad_pivot = outcome.bad_pivot;
  const bool zero = factors_->zero_pivot();
  // A row-major A is factored as A^T, whose pivots count rows of A.
  const char* const which = a_->transposed() ? " of A^T" : "";
  step.why = zero ? fmt::format("pivot {} of {}{} is zero", outcome.bad_pivot + 1, n(), which)
                  : "numbers beyond the range of its factors";
  factors_.reset();
  if (step.precision != Precision::fp64) return false;
  if (may_rotate()) {
    step.why += fmt::format("; the entries grew by {:.2g}", step.growth);
    plan_rotated();
  } else if (zero && may_rescale()) {
    plan_rescaled();
  } else if (zero) {
    // Several ranks have the pivots of the scaled A (or A^T) alone, which may be lost beside
    // others.
    const bool only_scaled = all().size() > 1 || !has_lapack();
    const std::int64_t given = only_scaled ? -1 : zero_pivot_as_given(machine_.device(), *a_);
    if (read_again()) return false;
    const bool is_sure = only_scaled ? scaled_->scales().spread() <= alike_scales : given >= 0;
    if (is_sure || rotations() == most_rotations)
      throw singular(given >= 0 ? given : step.bad_pivot, n(), given >= 0 ? "" : which);
    plan_rotated();
  }
  return false;
}

// Whether the entries have grown in the present FP64 LU, which a rotated one may prevent.
bool SteppedSolver::may_rotate() const {
  const SolveStep& step = steps_.back();
  return step.precision == Precision::fp64 && !step.rotated && has_grown(step.growth, n());
}

// Whether the scales of the present FP64 step are so far apart that its pivots may have
// underflowed, or its x overflowed, where those of other scales do not.
bool SteppedSolver::may_rescale(int spread) const {
  return last() && steps_.back().precision == Precision::fp64 &&
         scaled_->scaling() == Scaling::rows_first && scaled_->scales().spread() > spread;
}

// R A C with the scales of this step. The factors of other ones are gone before.
void SteppedSolver::scale(const Attempt& planned) {
  const Scaling scaling = !options_.equilibrate   ? Scaling::off
                          : planned.columns_first ? Scaling::columns_first
                                                  : Scaling::rows_first;
  if (scaled_ && scaled_->scaling() == scaling) return;
  std::vector<std::uint64_t> sums;
  scaled_.emplace(grid(), machine_.device(), *a_, scaling, checksum_ ? nullptr : &sums);
  if (checksum_) return;
  seed_of_a_ = seed_for(all(), seed_, sums.back());
  checksum_.emplace(std::move(sums));
}

// The right-hand sides that all ranks refine together at most. A device's own memory has room for
// their vectors in half of what is left of it.
std::int64_t SteppedSolver::block_count() const {
  constexpr double on_device = 4;  // vectors along rows and along columns, for each
  const std::int64_t m = a_->rows().local_size();
  const std::int64_t k = a_->columns().local_size();
  std::int64_t most = most_refined(m, k);
  if (const auto memory = machine_.device().memory()) {
    const double bytes = on_device * sizeof(double) * static_cast<double>(m + k);
    const double fit = static_cast<double>(memory->free) / 2 / std::max(bytes, 1.0);
    most = static_cast<std::int64_t>(std::clamp(fit, 1.0, static_cast<double>(most)));
  }
  return all().all_reduce(most, Reduction::min);
}

// Solves for the right-hand sides in `left` in the present step, and keeps each x that is better
// than the one before. After the first block with one that fails, the others wait for the next
// step's factors, if there is a next step. Returns whether the step is accepted.
bool SteppedSolver::attempt(const RightHandSideSource& b, std::vector<std::int64_t>& left,
                            Solution& solution) {
  forecast_ = 0;
  std::vector<std::int64_t> unsolved;
  const std::int64_t blocks = ceil_div(std::ssize(left), block_count());
  const auto width = static_cast<std::size_t>(ceil_div(std::ssize(left), blocks));
  for (std::size_t i = 0; i < left.size(); i += width) {
    const auto numbers = std::span(left).subspan(i, std::min(width, left.size() - i));
    if (!unsolved.empty() && !last())
      std::ranges::copy(numbers, std::back_inserter(unsolved));
    else
      solve_block(b, numbers, left.size(), unsolved, solution);
    if (!changed_.empty()) return false;
  }
  const auto is_bad = [](const SolveColumn& column) { return !column.why.empty(); };
  if (std::ranges::all_of(solution.columns, is_bad)) throw UsageError(solution.columns.front().why);
  if (!unsolved.empty() && last() && !may_rotate()) accept_as_singular(unsolved, solution);
  SolveStep& step = steps_.back();
  step.why = why_not(solution, unsolved);
  step.solved = step.why.empty();
  if (!step.solved && may_rotate())
    plan_rotated();
  else if (!step.solved && may_rescale())
    plan_rescaled();
  // An x from factors that give no bound of its error waits for better ones too.
  const bool some = !unsolved.empty() && unsolved.size() < left.size();
  const bool bounded = !some || last() || options_.condition == ConditionCheck::off ||
                       !factored().inverse().condition().at_least;
  if (!unsolved.empty() && bounded) left = std::move(unsolved);
  return step.solved;
}

// What the present step asks of the answers for these right-hand sides, of so many that are left.
AnswerOptions SteppedSolver::answer_options(const std::vector<std::int64_t>& given,
                                            std::size_t left, const Solution& solution) {
  AnswerOptions options;
  options.refine = {
      .method = options_.refine,
      .max_iterations = options_.max_iterations,
      .stop = StopRule::componentwise,
      .tolerance = options_.tolerance,
      .worth = worth(std::ssize(given), left),
      .forward = options_.accuracy == Accuracy::forward || options_.accuracy == Accuracy::certified,
      .forward_worth = forward_worth()};
  if (options_.accuracy == Accuracy::certified)
    options.certificate = [this]() -> Certificate& { return factors_->certificate(); };
  options.sharp = options.refine.forward && !last();
  options.precision = steps_.back().precision;
  options.condition = options_.condition;
  options.many = std::ssize(solution.columns) > Device::few_vectors;
  for (const std::int64_t k : given) options.b_read.push_back(b_read_[static_cast<std::size_t>(k)]);
  return options;
}

// Solves for these right-hand sides with the factors of the present step, measures the errors, and
// keeps each x that is accepted or better than the one before. Adds the others to `unsolved`; not
// those with an Inf or NaN, for which there is no solution.
void SteppedSolver::solve_block(const RightHandSideSource& source,
                                std::span<const std::int64_t> numbers, std::size_t left,
                                std::vector<std::int64_t>& unsolved, Solution& solution) {
  SolveStep& step = steps_.back();
  const auto column = [&](std::int64_t k) -> SolveColumn& {
    return solution.columns[static_cast<std::size_t>(k)];
  };
  MultiVector b(SteppedSolver::numbers(), std::ssize(numbers));
  std::vector<std::int64_t> given;
  for (const std::int64_t k : numbers) {
    const std::span values = b[std::ssize(given)];
    column(k).why = get(source, k, values);
    if (column(k).why.empty()) {
      given.push_back(k);
    } else {
      column(k).backward_error = column(k).hpl_residual = column(k).componentwise_error;
      column(k).forward_bound = unknown;
      column(k).precision = step.precision;
      stored_->put(grid(), source, k, Vector(values.size(), unknown), {}, solution.x);
    }
  }
  if (given.empty()) return;
  b.truncate(std::ssize(given));
  const AnswerOptions options = answer_options(given, left, solution);
  AnswerTimes times;
  Answers found = run().stage(
      Activity::refinement, [&] { return answers(factored(), *scaled_, op_, b, options, times); });
  step.refine_seconds += times.refine;
  check_seconds_ += times.checks;
  proof_seconds_ += times.proofs;
  forward_seconds_ += times.forward;
  if (options_.accuracy == Accuracy::automatic && !found.all.empty())
    accuracy_ = found.all.front().forward ? Accuracy::forward : Accuracy::backward;
  changed_ = found.changed;
  if (!changed_.empty()) return;
  seen_ = options.many ? std::nullopt : factored().system().checksum();
  for (std::size_t i = 0; i < given.size(); ++i) {
    const Answer& answer = found.all[i];
    SolveColumn& best = column(given[i]);
    step.iterations += answer.column.iterations;
    const bool better = answer.column.componentwise_error < best.componentwise_error;
    if (answer.column.converged || better || best.precision == Precision::automatic) {
      stored_->put(grid(), source, given[i], found.x[static_cast<std::int64_t>(i)], found.x_made[i],
                   solution.x);
      best = answer.column;
    }
    if (answer.column.converged) continue;
    unsolved.push_back(given[i]);
    forecast_ = std::max(forecast_, answer.forecast);
  }
}

// The step after the present one. After a step that failed only one is left that cannot fail:
// the last. A step between is tried where the sample had already shown the present one's precision
// to be too low, which is_hopeless() allows to be tried.
std::ptrdiff_t SteppedSolver::next() const {
  if (at_ < 0) return 0;
  const bool expected = sampled_ * unit_roundoff(planned(at_).precision) > 1;
  return expected ? at_ + 1 : std::ssize(plan_) - 1;
}

// Where A is singular to working precision, no x may be as accurate as others are. LAPACK returns
// one all the same, and so does Speedwell, with a doubt.
void SteppedSolver::accept_as_singular(std::vector<std::int64_t>& unsolved, Solution& solution) {
  if (options_.condition == ConditionCheck::off || options_.tolerance > 0 ||
      steps_.back().precision != Precision::fp64)
    return;
  const ConditionEstimate& condition = factored().inverse().condition();
  if (!condition.at_least && condition.value * eps < 1) return;
  for (const std::int64_t k : unsolved) {
    SolveColumn& column = solution.columns[static_cast<std::size_t>(k)];
    column.converged = true;
    column.forward_bound = std::numeric_limits<double>::infinity();
  }
  unsolved.clear();
}

// Why the step is not accepted; empty if it is. Low-precision factors may solve even with a
// singular A if b happens to allow it. So where A may be singular to working precision, or the
// factors tell no bound of any error, or one that leaves no digit, the step is not accepted, and
// FP64 decides: without a further step, or with rotations where entries have grown.
std::string SteppedSolver::why_not(const Solution& solution,
                                   const std::vector<std::int64_t>& unsolved) {
  if (!unsolved.empty()) {
    const auto error = [&](std::int64_t k) {
      return solution.columns[static_cast<std::size_t>(k)].componentwise_error;
    };
    const std::string forecast =
        forecast_ == 0 ? ""
                       : fmt::format(", {} more corrections forecast",
                                     std::isfinite(forecast_) ? fmt::format("{:.0f}", forecast_)
                                                              : "endlessly many");
    const std::string sides =
        unsolved.size() > 1 ? fmt::format(" ({} right-hand sides left)", unsolved.size()) : "";
    if (Certificate* const proofs = factors_->made_certificate())
      if (const auto& found = proofs->contraction(factored().system(), op_); !found.is_shown())
        return "no proof: " + why_no_proof(found);
    if (error(unsolved.front()) <= tolerance())
      return fmt::format("x is not accurate to its last digit{}{}", forecast, sides);
    return fmt::format("componentwise backward error {:.2g}, allowed {:.2g}{}{}",
                       error(unsolved.front()), tolerance(), forecast, sides);
  }
  if (options_.condition == ConditionCheck::off || (last() && !may_rotate())) return "";
  const double begin = run().now();
  const ConditionEstimate& condition = factored().inverse().condition();
  check_seconds_ += run().now() - begin;
  if (may_rotate())
    return condition.at_least
               ? fmt::format("the entries grew by {:.2g}: its factors tell no bound of any error",
                             steps_.back().growth)
               : "";
  if (condition.at_least)
    return fmt::format(
        "its factors tell no bound of any error: the condition number is at least "
        "{:.2g}",
        condition.value);
  if (!(condition.value * eps < 1)) return "A may be singular";
  const auto has_no_digit = [](const SolveColumn& column) {
    return column.why.empty() && !(column.forward_bound < no_digit);
  };
  return std::ranges::any_of(solution.columns, has_no_digit) ? "its factors show no digit of x"
                                                             : "";
}

void SteppedSolver::finish(Solution& solution) {
  solution.n = n();
  solution.accuracy = accuracy_;
  solution.accuracy_reason = accuracy_reason();
  solution.converged = std::all_of(solution.columns.begin(), solution.columns.end(),
                                   [](const SolveColumn& c) { return c.converged; }) &&
                       !steps_.empty() && steps_.back().solved;
  solution.equilibrated = options_.equilibrate && scaled_->scales().scales();
  solution.condition = unknown;
  if (factors_) {
    const double begin = run().now();
    solution.norm_a = static_cast<double>(scaled_->norm(factored().system(), op_));
    if (options_.condition != ConditionCheck::off) {
      const ConditionEstimate& condition = factored().inverse().condition();
      solution.condition = condition.value;
      solution.condition_at_least = condition.at_least;
      solution.doubt = doubt(factored(), solution.columns);
    }
    check_seconds_ += run().now() - begin;
  }
  solution.load_seconds = load_seconds_;
  solution.seconds = scale_seconds_;
  for (const SolveStep& step : steps_)
    solution.seconds += step.factor_seconds + step.refine_seconds;
  solution.check_seconds = check_seconds_;
  solution.notes = machine_.with_remarks(first_.notes);
  solution.reason = reason_;
  describe_setup(solution);
  solution.memory = memory_;
  if (const auto own = machine_.device().memory())
    solution.memory.device_peak = static_cast<double>(own->most);
  solution.steps = steps_;
  if (accuracy_ == Accuracy::certified) {
    solution.proof =
        announced_proof(n(), field(), first_.lu.precision,
                        Certificate::is_whole(machine_.device(), machine_.all().size()), rates_);
    solution.proof.seconds = proof_seconds_;
    if (factors_) tell_proof(factors_->made_certificate(), factored().system(), op_, solution);
  }
  // The next solve() begins with the present factors.
  if (factors_) {
    SolveStep present;
    present.precision = steps_.back().precision;
    present.growth = steps_.back().growth;
    present.rotated = steps_.back().rotated;
    steps_ = {present};
  }
  load_seconds_ = scale_seconds_ = check_seconds_ = proof_seconds_ = 0;
  kept_.clear();
}

void SteppedSolver::fail(Solution best) {
  if (best.steps.empty()) best.steps = steps_;
  best.probe_seed = seed_;
  throw no_solution(std::move(best));
}

}  // namespace speedwell
