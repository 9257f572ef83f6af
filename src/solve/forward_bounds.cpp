// SPDX-License-Identifier: BSD-3-Clause
#include "solve/forward_bounds.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/numbers.hpp"
#include "solve/proofs.hpp"

namespace speedwell {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double roundings = 1 + 16 * eps;    // of a bound, which may be that of a known rounding
constexpr int most_spread = 500;              // of the exponents of ||C y|| that one bound is for
constexpr std::size_t weighed_together = 64;  // answers whose f are computed at once

bool has_digit(const Answer* answer) {
  return answer->column.forward_bound < no_digit;
}

// C is divided by 2^top, where top is the exponent of ||C y||, so that neither norm overflows.
class ForwardBounds {
 public:
  ForwardBounds(FactoredSystem& factored, const Equilibration& scales, const Weigh& weigh)
      : factored_(factored),
        scales_(scales),
        weigh_(weigh),
        largest_c_(*std::ranges::max_element(scales.columns)),
        ones_(static_cast<std::size_t>(factored.system().n()), 1.0) {}

  void set(Answers& answers, bool componentwise) {
    for (Answer& answer : answers.all)
      if (!answer.column.converged) answer.sharp.reset();
    bound(answers, componentwise);
    if (std::ranges::none_of(answers.all, &Answer::is_sharp)) return;
    // The condition number came with the estimates: one pass of them is enough where it is small.
    if (!is_certain()) {
      for (Answer& answer : answers.all) answer.sharp.reset();
      bound(answers, componentwise);
    }
    for (Answer& answer : answers.all)
      answer.column.accurate = answer.is_sharp() && !answer.underflows;
  }

 private:
  using Some = std::span<Answer* const>;

  void bound(Answers& answers, bool componentwise) {
    std::vector<Answer*> open;
    for (Answer& answer : answers.all) {
      if (!answer.column.converged) continue;
      const double largest_f = answer.residual_bound().largest_f;
      answer.column.forward_bound = largest_f == 0 ? roundings * answer.rounding : infinity;
      answer.column.componentwise_bound =
          answer.sharp && componentwise ? answer.column.forward_bound : unknown;
      if (largest_f != 0 && answer.top) open.push_back(&answer);
    }
    if (componentwise) {
      by_components(open);
    } else {
      by_condition(open);
      std::erase_if(open, has_digit);
      bound_again(std::move(open));
    }
  }

  // Without the condition number, or where it is too large, digits are not certain.
  bool is_certain() {
    const ConditionEstimate& condition = factored_.inverse().condition();
    return !condition.at_least &&
           condition.value * 10 * static_cast<double>(factored_.system().n()) * eps < 1;
  }

  // What the underflow of the factors, which products with them do not see, may add to a norm that
  // was estimated with weights up to 1.
  double unseen(const Answer& answer) const {
    return factored_.inverse().lost_by_underflow() * answer.residual_bound().largest_f;
  }
  // The same of a norm with the weights C 2^-top.
  double unseen_in_norm(const Answer& answer) const {
    return std::ldexp(unseen(answer), largest_c_ - *answer.top);
  }

  static void finish(Answer& answer, double norm) {
    const double estimated = std::max(norm, answer.next) / answer.size;
    answer.column.forward_bound =
        answer.sharp
            ? roundings * (std::max(estimated, answer.sharp->norm_error) + answer.sharp->rounding)
            : estimated + roundings * answer.rounding;
  }

  // By ||(R A C)^-1||. A lower bound of it bounds no error.
  void by_condition(Some open) {
    if (open.empty()) return;
    const ConditionEstimate& condition = factored_.inverse().condition();
    const double inverse = condition.at_least ? infinity
                                              : factored_.inverse().margin() * condition.value /
                                                    factored_.system().scaled_norm();
    for (Answer* answer : open)
      finish(*answer,
             std::ldexp(inverse * answer->residual_bound().largest_f, largest_c_ - *answer->top));
  }

  // By components, the worst ones alone and first: one that keeps no digit is a doubt about all,
  // and there is one anyway where A is singular to working precision.
  void bound_again(std::vector<Answer*> open) {
    if (open.empty()) return;
    const ConditionEstimate& condition = factored_.inverse().condition();
    if (condition.at_least || !(condition.value * eps < 1)) return;
    std::ranges::stable_sort(open, [](const Answer* a, const Answer* b) {
      return a->column.forward_bound > b->column.forward_bound;
    });
    constexpr auto few = static_cast<std::size_t>(Device::few_vectors);
    bool first = true;
    for (Some rest = open; !rest.empty();) {
      const Some some = rest.first(std::min(few, rest.size()));
      weigh_(some);
      by_components(some);
      rest = rest.subspan(some.size());
      if (!std::ranges::all_of(some, has_digit) || (first && by_largest(rest))) return;
      first = false;
    }
  }

  // One bound for all of them, by the largest f_i / ||C y||, which takes a single estimate: whether
  // it leaves a digit.
  bool by_largest(Some some) {
    if (some.empty()) return true;
    const auto top_of = [](const Answer* answer) { return *answer->top; };
    const int top = std::ranges::max(some, {}, top_of)->top.value();
    if (top - std::ranges::min(some, {}, top_of)->top.value() > most_spread) return false;
    Vector most(static_cast<std::size_t>(factored_.system().b_part().local_size()), 0.0);
    for (Some rest = some; !rest.empty();) {
      const Some next = rest.first(std::min(weighed_together, rest.size()));
      weigh_(next);
      for (const Answer* answer : next) {
        const double factor = std::ldexp(1 / answer->size, top - *answer->top);
        const Vector& f = answer->residual_bound().weight;
        for (std::size_t i = 0; i < f.size(); ++i) most[i] = std::max(most[i], factor * f[i]);
      }
      rest = rest.subspan(next.size());
    }
    const auto norms =
        factored_.inverse().norms({{scaled(ones_, scales_.columns, -top), whole(most)}});
    if (!norms || !(norms->front() < no_digit)) return false;
    for (Answer* answer : some)
      finish(*answer, norms->front() * answer->size + unseen_in_norm(*answer));
    return std::ranges::all_of(some, has_digit);
  }

  void by_components(Some open) {
    if (open.empty()) return;
    std::vector<Weights> weights;
    std::vector<Answer*> of_entries;
    weights.reserve(2 * open.size());
    for (const Answer* answer : open)
      weights.push_back(
          {scaled(ones_, scales_.columns, -*answer->top), whole(answer->residual_bound().weight)});
    for (std::size_t i = 0; i < open.size(); ++i)
      if (open[i]->sharp && !open[i]->sharp->of_entries.empty()) {
        weights.push_back({open[i]->sharp->of_entries, weights[i].right});
        of_entries.push_back(open[i]);
      }
    const std::vector<double> none(weights.size(), infinity);
    const std::vector<double> norms = factored_.inverse().norms(std::move(weights)).value_or(none);
    for (std::size_t i = 0; i < open.size(); ++i)
      finish(*open[i], norms[i] + unseen_in_norm(*open[i]));
    for (std::size_t i = 0; i < of_entries.size(); ++i) {
      const SharpAnswer& sharp = *of_entries[i]->sharp;
      // Entries whose corrections tell no rate have the estimated bound alone.
      const double by_rates = std::isfinite(sharp.entry_error) ? sharp.entry_error : 0;
      of_entries[i]->column.componentwise_bound =
          roundings *
          (std::max(norms[open.size() + i] + unseen(*of_entries[i]) * largest(sharp.of_entries),
                    by_rates) +
           sharp.entry_rounding);
    }
  }

  Vector whole(const Vector& f) {
    return factored_.system().b_space().gather(factored_.system().b_part(), f);
  }

  FactoredSystem& factored_;
  const Equilibration& scales_;
  const Weigh& weigh_;
  int largest_c_;  // of the exponents of C
  Vector ones_;
};

}  // namespace

void set_forward_bounds(FactoredSystem& factored, const Equilibration& scales, Answers& answers,
                        bool componentwise, const Weigh& weigh) {
  ForwardBounds(factored, scales, weigh).set(answers, componentwise);
}

}  // namespace speedwell
