// SPDX-License-Identifier: BSD-3-Clause
#include "refine/approximations.hpp"

#include <algorithm>
#include <utility>

#include "element/two_sum.hpp"

namespace speedwell {

CorrectionSizes correction_sizes(const System& system, const MultiVector& x, const MultiVector& d,
                                 const Vector& weights) {
  constexpr std::size_t each = 4;
  Vector most;  // of each: ||d||, ||W d||, ||W x||, the largest |d_i| / |x_i|
  Vector values(static_cast<std::size_t>(d.size()));
  for (std::int64_t k = 0; k < d.count(); ++k) {
    const auto push_largest = [&](auto&& value) {
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = value(i);
      most.push_back(largest(values));
    };
    const auto weight = [&](std::size_t i) { return weights.empty() ? 1 : weights[i]; };
    most.push_back(largest(d[k]));
    push_largest([&](std::size_t i) { return weight(i) * d[k][i]; });
    push_largest([&](std::size_t i) { return weight(i) * x[k][i]; });
    push_largest([&](std::size_t i) { return d[k][i] == 0 ? 0 : d[k][i] / x[k][i]; });
  }
  system.grid().all().all_reduce(most, Reduction::max);
  CorrectionSizes sizes;
  for (std::size_t k = 0; k < most.size(); k += each) {
    sizes.norms.push_back(most[k]);
    sizes.weighted.push_back(most[k + 1] == 0 ? 0 : most[k + 1] / most[k + 2]);
    sizes.x.push_back(most[k + 2]);
    sizes.entries.push_back(most[k + 3]);
  }
  return sizes;
}

Block::Block(const MultiVector& all_b, std::int64_t size, std::vector<std::int64_t> its_numbers,
             bool forward)
    : numbers(std::move(its_numbers)),
      b(all_b.size(), count()),
      x(size, count()),
      moved(numbers.size(), 0.0) {
  for (std::size_t i = 0; i < numbers.size(); ++i)
    std::ranges::copy(all_b[numbers[i]], b[static_cast<std::int64_t>(i)].begin());
  r = b;
  if (forward) low = x;
}

bool Block::bounds_hold(const Vector& row_sums) const {
  constexpr double two_digits = 0.01;
  for (std::int64_t k = 0; k < count(); ++k) {
    const double far = moved[static_cast<std::size_t>(k)] / two_digits;
    for (std::size_t i = 0; i < row_sums.size(); ++i)
      if (!(row_sums[i] * far <= bound[k][i])) return false;
  }
  return true;
}

void Block::add(const MultiVector& d) {
  // Where the residual may be updated for the sum, it must have been that of this x.
  const bool may_update = extended.count() > 0 && count() > Device::few_vectors;
  const VectorChecksums before = may_update ? checksums_of(x) : VectorChecksums{};
  if (low.count() == 0)
    for (std::size_t i = 0; i < d.all().size(); ++i) x.all()[i] += d.all()[i];
  else
    for (std::size_t i = 0; i < d.all().size(); ++i)
      add_pair(x.all()[i], low.all()[i], d.all()[i], 0.0);
  if (!may_update) return;
  const VectorChecksums after = checksums_of(x);
  for (std::size_t k = 0; k < x_read.size(); ++k)
    x_read[k] = x_read[k] == before[k] ? after[k] : std::nullopt;
}

void Block::subtract(const MultiVector& a_d, const MultiVector& a_low) {
  for (std::size_t i = 0; i < r.all().size(); ++i) {
    extended.all()[i] -= a_d.all()[i];
    r.all()[i] = extended.all()[i] + a_low.all()[i];
  }
}

void Block::keep(const std::vector<std::int64_t>& places) {
  if (std::ssize(places) == count()) return;
  for (MultiVector* v : {&b, &x, &low, &r, &extended, &bound})
    if (v->count() > 0) v->keep(places);
  for (std::size_t to = 0; to < places.size(); ++to) {
    numbers[to] = numbers[static_cast<std::size_t>(places[to])];
    moved[to] = moved[static_cast<std::size_t>(places[to])];
  }
  numbers.resize(places.size());
  moved.resize(places.size());
  for (auto* sums : {&x_read, &b_read}) {
    if (sums->empty()) continue;
    for (std::size_t to = 0; to < places.size(); ++to)
      (*sums)[to] = (*sums)[static_cast<std::size_t>(places[to])];
    sums->resize(places.size());
  }
}

Vector scaled_residuals(System& system, const Block& block) {
  Vector errors;
  for (std::int64_t i = 0; i < block.count(); ++i)
    errors.push_back(scaled_residual(system.norms(block.x[i], block.b[i], block.r[i]), system.n()));
  return errors;
}

void RefinedColumn::leave(const Block& block, std::int64_t place) {
  if (outcome.history.empty() || error != outcome.error) return;
  outcome.x = block.x.vector(place);
  outcome.residual = block.r.vector(place);
  block.tell_read(outcome, place);
  outcome.bound = block.bound.count() > 0 ? block.bound.vector(place) : Vector{};
  if (block.low.count() > 0) {
    outcome.low = block.low.vector(place);
    outcome.extended = block.extended.vector(place);
    outcome.updates = updates;
    outcome.drift = drift;
  }
  measured = true;
}

}  // namespace speedwell
