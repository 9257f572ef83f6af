// SPDX-License-Identifier: BSD-3-Clause
#include "solve/answers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>

#include "core/numbers.hpp"
#include "host/threads.hpp"
#include "solve/forward_bounds.hpp"
#include "solve/memory_checks.hpp"
#include "solve/proofs.hpp"

namespace speedwell {

namespace {

// Bounds that are computed in FP32, or for an x of some corrections ago, are right to two digits.
constexpr double bound_margin = 1.02;

// max_i |v_i| 2^(shift - exponents[i]). long double, because the result may be outside of FP64's
// range. Infinity if v has an Inf or NaN.
long double largest_scaled(const Vector& v, const std::vector<int>& exponents, int shift) {
  if (!std::isfinite(largest(v))) return std::numeric_limits<long double>::infinity();
  long double most = 0;
  int top = std::numeric_limits<int>::min();
  for (std::size_t i = 0; i < v.size(); ++i) {
    const std::optional<int> e = exponent(v[i]);
    if (!e || *e + shift - exponents[i] < top) continue;
    top = *e + shift - exponents[i];
    most =
        std::max(most, std::fabs(std::ldexp(static_cast<long double>(v[i]), shift - exponents[i])));
  }
  return most;
}

// Solves for some right-hand sides of one factored system.
class Answering {
 public:
  Answering(FactoredSystem& factored, const ScaledMatrix& matrix, Transpose op,
            const MultiVector& b, const AnswerOptions& options, AnswerTimes& times)
      : factored_(factored),
        system_(factored.system()),
        matrix_(matrix),
        op_(op),
        scales_(matrix.scales().of(op)),
        b_(b),
        options_(options),
        tolerance_(componentwise_tolerance(options.refine.tolerance, system_.n())),
        run_(system_.grid().all().run()),
        times_(times),
        x_space_(system_.x_space()),
        right_(system_.b_part().local_size(), b.count()) {
    answers_.x = MultiVector(system_.n(), b.count());
    answers_.y = MultiVector(system_.x_part().local_size(), b.count());
    answers_.all.resize(static_cast<std::size_t>(b.count()));
    for (auto* sums : {&answers_.x_made, &y_read_, &right_read_}) sums->resize(answers_.all.size());
    shifts_.resize(answers_.all.size());
    if (options.certificate) lows_ = answers_.y;
    for_each_in_threads(b.count(), [&](std::int64_t k) {
      shifts_[static_cast<std::size_t>(k)] =
          scale_side(system_, matrix_, scales_, b_[k], right_[k]);
      of(k).column.precision = options.precision;
    });
  }

  Answers run() {
    const bool sketched = factored_.exact() && options_.many && options_.refine.tolerance == 0 &&
                          !options_.refine.forward && options_.condition != ConditionCheck::full &&
                          options_.refine.method != RefineMethod::gmres &&
                          is_tame(factored_.factor_error().growth, system_.n());
    std::vector<std::int64_t> rest;
    if (sketched)
      rest = solve_once();
    else
      for (std::int64_t k = 0; k < right_.count(); ++k) rest.push_back(k);
    if (!rest.empty()) refine(rest);
    const double begin = run_.now();
    if (options_.certificate)
      prove();
    else if (options_.condition != ConditionCheck::off)
      set_forward_bounds(factored_, scales_, answers_, is_componentwise(),
                         [this](std::span<Answer* const> some) { weigh(some); });
    answers_.changed = what_changed({system_, matrix_, op_, scales_, b_, options_.b_read, shifts_,
                                     right_read_, answers_.y, y_read_});
    times_.checks += run_.now() - begin;
    return std::move(answers_);
  }

 private:
  Answer& of(std::int64_t k) { return answers_.all[static_cast<std::size_t>(k)]; }
  bool is_componentwise() const {
    return options_.condition == ConditionCheck::full || !options_.many;
  }
  bool as_lapack() const { return factored_.exact() && options_.refine.tolerance == 0; }

  // One solve for all; returns those whose estimated errors do not suffice.
  std::vector<std::int64_t> solve_once() {
    double begin = run_.now();
    answers_.y = factored_.solver().solve(right_);
    const MultiVector& y = answers_.y;
    y_read_ = checksums_of(y);
    times_.refine += run_.now() - begin;
    begin = run_.now();
    const ResidualSketch::Estimates estimates = factored_.sketch().estimate(y, right_);
    right_read_ = checksums_of(right_);
    const Vector y_sizes = x_space_.largest(y);
    const Vector b_sizes = system_.b_space().largest(right_);
    std::vector<std::int64_t> rest;
    set_every_x();
    for (std::int64_t k = 0; k < y.count(); ++k) {
      const auto i = static_cast<std::size_t>(k);
      const double error = ResidualSketch::certainty * estimates.errors[i];
      Answer& answer = of(k);
      if (!(error <= tolerance_) || !std::isfinite(answer.x_norm) || answer.underflows) {
        rest.push_back(k);
        continue;
      }
      SolveColumn& column = answer.column;
      column.method = RefineMethod::ir;
      column.iterations = 1;
      column.converged = true;
      column.componentwise_error = unknown;
      column.backward_error = error;
      column.hpl_residual = unknown;
      column.forward_bound = unknown;
      const double n = static_cast<double>(system_.n());
      const double size = system_.scaled_norm() * y_sizes[i] + b_sizes[i];
      answer.largest_f = ResidualSketch::certainty * estimates.residuals[i] + (n + 1) * eps * size;
      if (answer.largest_f != 0) answer.largest_f += lost(answer);
      answer.sketched = true;
    }
    times_.checks += run_.now() - begin;
    return rest;
  }

  // f of those of which solve_once() has estimated its norm.
  void weigh(std::span<Answer* const> some) {
    std::vector<std::int64_t> numbers;
    for (const Answer* answer : some)
      if (answer->sketched) numbers.push_back(answer - answers_.all.data());
    if (numbers.empty()) return;
    const auto chosen = [&](const MultiVector& from) {
      MultiVector v(from.size(), std::ssize(numbers));
      for (std::int64_t i = 0; i < v.count(); ++i)
        std::ranges::copy(from[numbers[static_cast<std::size_t>(i)]], v[i].begin());
      return v;
    };
    const System::Errors errors = system_.errors(chosen(answers_.y), chosen(right_), true);
    for (std::int64_t i = 0; i < std::ssize(numbers); ++i) {
      Answer& answer = of(numbers[static_cast<std::size_t>(i)]);
      set_weight(answer, errors.residual[i], errors.bound.vector(i));
      answer.sketched = false;
    }
  }

  // @param bound |R A C| |y| + |R b|
  void set_weight(Answer& answer, std::span<const double> residual, Vector bound) {
    const double n = static_cast<double>(system_.n());
    for (std::size_t i = 0; i < bound.size(); ++i)
      bound[i] = std::fabs(residual[i]) + (n + 1) * eps * bound_margin * bound[i];
    answer.weight = std::move(bound);
    answer.largest_f = system_.b_space().largest(MultiVector(answer.weight))[0];
    if (answer.largest_f == 0) return;
    for (double& f : answer.weight) f += lost(answer);
    answer.largest_f += lost(answer);
  }

  void refine(const std::vector<std::int64_t>& numbers) {
    double begin = run_.now();
    MultiVector b = right_;
    b.keep(numbers);
    RefineOptions wanted = options_.refine;
    if (wanted.forward || wanted.forward_worth > 0) wanted.weights = weights_of_x();
    if (options_.many && options_.condition != ConditionCheck::full && !options_.certificate)
      wanted.condition = [this] {
        const ConditionEstimate& condition = factored_.inverse().condition();
        return condition.at_least ? std::numeric_limits<double>::infinity() : condition.value;
      };
    std::vector<RefineOutcome> outcomes = speedwell::refine(system_, factored_.solver(), b, wanted);
    times_.refine += run_.now() - begin;
    times_.forward += outcomes.front().times.forward;
    begin = run_.now();
    for (std::size_t i = 0; i < numbers.size(); ++i) measure(numbers[i], outcomes[i]);
    if (options_.condition != ConditionCheck::off) correct(numbers, outcomes);
    times_.checks += run_.now() - begin;
  }

  // C, divided by its largest entry: the norm of C y is that of x.
  Vector weights_of_x() const {
    const Vector ones(static_cast<std::size_t>(system_.n()), 1.0);
    const int most = *std::ranges::max_element(scales_.columns);
    return local_part(system_.x_part(), scaled(ones, scales_.columns, -most));
  }

  void set_x(std::int64_t k) {
    gather_y(k);
    scale_y(k);
  }
  void set_every_x() {
    for (std::int64_t k = 0; k < answers_.x.count(); ++k) gather_y(k);
    for_each_in_threads(answers_.x.count(), [&](std::int64_t k) { scale_y(k); });
  }
  // x <- y, whole. Collective.
  void gather_y(std::int64_t k) {
    std::ranges::copy(x_space_.gather(system_.x_part(), answers_.y[k]), answers_.x[k].begin());
  }
  // x <- C x 2^shift, and its norms.
  void scale_y(std::int64_t k) {
    const Vector y(answers_.x[k].begin(), answers_.x[k].end());
    const int shift = shifts_[static_cast<std::size_t>(k)];
    const std::span<double> x = answers_.x[k];
    double least = std::numeric_limits<double>::infinity();  // of x_i whose y_i is not zero
    for (std::size_t i = 0; i < y.size(); ++i) {
      x[i] = times_power(y[i], scales_.columns[i] + shift);
      if (y[i] != 0) least = std::min(least, std::fabs(x[i]));
    }
    Answer& answer = of(k);
    answers_.x_made[static_cast<std::size_t>(k)] = checksum_of(x);
    answer.underflows = least < std::numeric_limits<double>::min() && y != scaled_back(k);
    set_norms(answer, y, x, shift);
  }
  // The y whose x = C y 2^shift has been rounded to what it is: exact where x is finite.
  Vector scaled_back(std::int64_t k) const {
    const std::span<const double> x = answers_.x[k];
    Vector y(x.size());
    for (std::size_t i = 0; i < y.size(); ++i)
      y[i] = times_power(x[i], -(scales_.columns[i] + shifts_[static_cast<std::size_t>(k)]));
    return y;
  }
  void set_norms(Answer& answer, const Vector& y, std::span<const double> x, int shift) const {
    answer.y_norm = largest(y);
    answer.x_norm = largest(x);
    // ||C y|| is that of x, unless x is so small that it has lost digits.
    if (answer.x_norm >= std::numeric_limits<double>::min() && std::isfinite(answer.x_norm)) {
      answer.top = *exponent(answer.x_norm) - shift;
      answer.size = times_power(answer.x_norm, -*exponent(answer.x_norm));
    } else if ((answer.top = largest_exponent(y, scales_.columns))) {
      answer.size = largest(scaled(y, scales_.columns, -*answer.top));
    }
  }

  // Where x has lost digits by underflow: its backward errors become those of the y which x is. x +
  // low stays what it was, and so does what bounds the error before.
  void measure_as_returned(std::int64_t k, RefineOutcome& outcome) {
    Answer& answer = of(k);
    set_weight(answer, outcome.residual, outcome.bound);
    const Vector whole = scaled_back(k);
    Vector lost = x_space_.gather(system_.x_part(), outcome.x);
    for (std::size_t i = 0; i < lost.size(); ++i) lost[i] -= whole[i];
    set_norms(answer, whole, answers_.x[k], shifts_[static_cast<std::size_t>(k)]);
    answer.rounding = std::numeric_limits<double>::infinity();
    if (answer.top)
      answer.rounding = largest(scaled(lost, scales_.columns, -*answer.top)) / answer.size;
    const Vector y = local_part(system_.x_part(), whole);
    for (std::size_t i = 0; i < outcome.low.size(); ++i) outcome.low[i] += outcome.x[i] - y[i];
    outcome.x = y;
    std::ranges::copy(y, answers_.y[k].begin());
    y_read_[static_cast<std::size_t>(k)] = checksum_of(answers_.y[k]);
    const System::Errors found = system_.errors(MultiVector(y), right_.part(k, 1), true);
    outcome.residual = found.residual.vector(0);
    outcome.error = system_.componentwise_errors(found.residual, found.bound)[0];
    // That of x + low stays.
    if (outcome.low.empty()) outcome.bound.assign(found.bound[0].size(), 0.0);
    for (std::size_t i = 0; i < outcome.bound.size(); ++i)
      outcome.bound[i] = std::max(outcome.bound[i], found.bound[0][i]);
    // No number that does not become zero loses more than a third of itself.
    outcome.norm_error *= 1.5;
    outcome.entry_error *= 1.5;
  }

  // What underflow may have changed in an entry of the residual.
  double lost(const Answer& answer) const {
    return static_cast<double>(system_.n() + 1) * matrix_.underflow() * (1 + answer.y_norm);
  }

  // What the next corrections would change in each x whose residual is large, because a tolerance
  // allows it. Other bounds by estimated norms have the roundings of r to cover what an estimate
  // misses; here the error is (R A C)^-1 r, and next to nothing else.
  void correct(const std::vector<std::int64_t>& numbers,
               const std::vector<RefineOutcome>& outcomes) {
    std::vector<std::size_t> large;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const Answer& answer = of(numbers[i]);
      if (answer.column.converged && !answer.sharp && answer.top && !answer.underflows &&
          answer.column.componentwise_error > default_tolerance(system_.n()))
        large.push_back(i);
    }
    if (large.empty()) return;
    MultiVector r(right_.size(), std::ssize(large));
    for (std::int64_t i = 0; i < r.count(); ++i)
      std::ranges::copy(outcomes[large[static_cast<std::size_t>(i)]].residual, r[i].begin());
    MultiVector d = factored_.solver().solve(r);
    const MultiVector next = factored_.solver().solve(system_.errors(d, r, false).residual);
    for (std::size_t i = 0; i < d.all().size(); ++i) d.all()[i] += next.all()[i];
    for (std::int64_t i = 0; i < r.count(); ++i) {
      Answer& answer = of(numbers[large[static_cast<std::size_t>(i)]]);
      const auto size = [&](const MultiVector& v) {
        return largest(
            scaled(x_space_.gather(system_.x_part(), v[i]), scales_.columns, -*answer.top));
      };
      // A third correction is smaller than the second, and what it leaves.
      answer.next = size(d) + size(next);
    }
  }

  void measure(std::int64_t k, RefineOutcome& outcome) {
    Answer& answer = of(k);
    const int shift = shifts_[static_cast<std::size_t>(k)];
    std::ranges::copy(outcome.x, answers_.y[k].begin());
    y_read_[static_cast<std::size_t>(k)] = outcome.x_read;
    right_read_[static_cast<std::size_t>(k)] = outcome.b_read;
    answer.forecast = outcome.forecast;
    answer.forward = outcome.forward;
    set_x(k);
    // With an x beyond FP64's range errors would be 0, whatever the residual.
    const bool finite = std::isfinite(answer.x_norm) && std::isfinite(outcome.error);
    SolveColumn& column = answer.column;
    column.converged =
        finite && (outcome.error <= tolerance_ ||
                   (as_lapack() && factored_.normwise_error(answers_.y[k], right_[k],
                                                            outcome.residual) <= tolerance_));
    if (finite && answer.underflows) measure_as_returned(k, outcome);
    column.method = outcome.method;
    column.iterations = outcome.iterations;
    column.componentwise_error = finite ? outcome.error : std::numeric_limits<double>::infinity();
    column.forward_bound = unknown;
    const VectorSpace b_space = system_.b_space();
    const Vector residual = b_space.gather(system_.b_part(), outcome.residual);
    const long double most = largest_scaled(residual, scales_.rows, shift);
    const long double size = matrix_.norm(system_, op_) * answer.x_norm + largest(b_[k]);
    const double ratio = most == 0 ? 0 : static_cast<double>(most / size);
    column.backward_error = finite ? ratio : std::numeric_limits<double>::infinity();
    column.hpl_residual = column.backward_error / (eps * static_cast<double>(system_.n()));
    const bool sharp = outcome.forward && finite && std::isfinite(outcome.norm_error);
    if (options_.sharp && !sharp) column.converged = false;
    if (options_.certificate) {
      std::ranges::copy(outcome.low, lows_[k].begin());
      column.accurate = sharp && !answer.underflows;
      return;
    }
    if (sharp) sharpen(k, outcome);
    column.accurate = sharp && options_.condition == ConditionCheck::off && !answer.underflows;
    if (!answer.underflows) set_weight(answer, outcome.residual, std::move(outcome.bound));
  }

  // What bounds the error of x + low, and its rounding to x. Entries are bounded unless there are
  // many right-hand sides and not all is asked for.
  void sharpen(std::int64_t k, const RefineOutcome& outcome) {
    Answer& answer = of(k);
    const VectorSpace b_space = system_.b_space();
    SharpAnswer& sharp = answer.sharp.emplace();
    sharp.norm_error = outcome.norm_error;
    sharp.entry_error = outcome.entry_error;
    Vector f = outcome.bound;
    for (std::size_t i = 0; i < f.size(); ++i)
      f[i] = bound_margin * (std::fabs(outcome.extended[i]) + system_.extended_error() * f[i]);
    if (outcome.drift > 0)
      for (std::size_t i = 0; i < f.size(); ++i)
        f[i] += bound_margin * outcome.drift * system_.row_sums()[i];
    sharp.largest_f = b_space.largest(MultiVector(f))[0];
    if (sharp.largest_f != 0) {
      const double underflow = (1 + outcome.updates) * lost(answer);
      for (double& value : f) value += underflow;
      sharp.largest_f += underflow;
    }
    const Vector low = x_space_.gather(system_.x_part(), outcome.low);
    const Vector y = x_space_.gather(system_.x_part(), outcome.x);
    if (answer.top)
      sharp.rounding = largest(scaled(low, scales_.columns, -*answer.top)) / answer.size;
    sharp.weight = std::move(f);
    if (!is_componentwise()) return;
    sharp.of_entries.resize(y.size());
    for (std::size_t i = 0; i < y.size(); ++i) {
      sharp.of_entries[i] = 1 / std::fabs(y[i]);
      sharp.entry_rounding =
          std::max(sharp.entry_rounding, std::fabs(low[i]) * sharp.of_entries[i]);
    }
    if (!std::isfinite(largest(sharp.of_entries))) sharp.of_entries = {};
  }

  // Proven bounds of the accepted x. In a step before the last, no x is accepted without them.
  void prove() {
    std::vector<std::int64_t> open;
    for (std::int64_t k = 0; k < right_.count(); ++k)
      if (of(k).column.converged) open.push_back(k);
    if (open.empty()) return;
    const double begin = run_.now();
    Certificate& certificate = options_.certificate();
    if (certificate.contraction(system_, op_).is_shown()) {
      MultiVector y = answers_.y;
      for (MultiVector* v : {&y, &lows_, &right_}) v->keep(open);
      const MultiVector errors = certificate.errors(system_, op_, y, lows_, right_);
      const auto whole = [&](std::span<const double> v) {
        return x_space_.gather(system_.x_part(), v);
      };
      for (std::size_t i = 0; i < open.size(); ++i)
        set_proven(of(open[i]), whole(answers_.y[open[i]]),
                   whole(errors[static_cast<std::int64_t>(i)]), scales_.columns);
    }
    for (const std::int64_t k : open) {
      SolveColumn& column = of(k).column;
      column.accurate = column.accurate && column.certified && column.forward_bound <= 2 * eps;
      column.converged = column.certified || !options_.sharp;
    }
    times_.proofs += run_.now() - begin;
  }

  FactoredSystem& factored_;
  System& system_;
  const ScaledMatrix& matrix_;
  Transpose op_;
  Equilibration scales_;
  const MultiVector& b_;
  const AnswerOptions& options_;
  double tolerance_;
  const RunContext& run_;
  AnswerTimes& times_;
  VectorSpace x_space_;
  MultiVector right_;       // R b 2^-shift
  MultiVector lows_;        // RefineOutcome::low, with a certificate
  VectorChecksums y_read_;  // as residuals were computed
  VectorChecksums right_read_;
  std::vector<int> shifts_;  // the largest |r_i b_i| 2^-shift is in [1/2, 1)
  Answers answers_;
};

}  // namespace

Answers answers(FactoredSystem& factored, const ScaledMatrix& matrix, Transpose op,
                const MultiVector& b, const AnswerOptions& options, AnswerTimes& times) {
  return Answering(factored, matrix, op, b, options, times).run();
}

std::string doubt(FactoredSystem& factored, std::span<const SolveColumn> columns) {
  double most = 0;
  for (const SolveColumn& column : columns)
    if (column.converged) most = std::max(most, column.forward_bound);
  const ConditionEstimate& condition = factored.inverse().condition();
  const double growth = factored.factor_error().growth;
  if (condition.at_least)
    return fmt::format(
        "the factors tell no bound of the error of x: the condition number of A is at "
        "least {:.2g}{}",
        condition.value,
        has_grown(growth, factored.system().n())
            ? fmt::format(", and the entries grew by {:.2g} in the LU", growth)
            : "; A may be singular to working precision");
  if (!(condition.value * eps < 1))
    return fmt::format(
        "A is singular to working precision (condition number {:.2g}, estimated): no "
        "digit of x is certain",
        condition.value);
  if (most < no_digit) return "";
  return fmt::format(
      "no digit of x is certain: the estimated bound of its error is {:.2g} of its "
      "size",
      most);
}

AccuracyError no_solution(Solution best) {
  std::string words;
  for (const SolveStep& step : best.steps)
    if (!step.solved)
      words += fmt::format("{}{}: {}", words.empty() ? "" : "; ", name(step.precision), step.why);
  std::int64_t bad = 0;
  for (const SolveColumn& column : best.columns)
    if (!column.why.empty() && ++bad == 1) words += (words.empty() ? "" : "; ") + column.why;
  if (bad > 1)
    words +=
        fmt::format("; {} more right-hand side{} with an Inf or NaN", bad - 1, bad == 2 ? "" : "s");
  return {"no x of the accuracy that was asked for: " + words,
          std::make_shared<const Solution>(std::move(best))};
}

}  // namespace speedwell
