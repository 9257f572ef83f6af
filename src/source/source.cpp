// SPDX-License-Identifier: BSD-3-Clause
#include "source/source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "comm/agreement.hpp"
#include "core/numbers.hpp"
#include "source/source_parts.hpp"

namespace speedwell {

Matrix::Matrix(std::shared_ptr<MatrixSource> source) : source_(std::move(source)) {}

RightHandSide::RightHandSide(std::shared_ptr<RightHandSideSource> source)
    : source_(std::move(source)) {}

void check_sides(const RightHandSideSource& b, const Communicator& all, const MatrixSource& a) {
  if (b.count() > 0 && b.field() != a.field()) {
    const bool complex = a.field() == Field::complex;
    throw UsageError(fmt::format("A is {} and b is {}; allowed: {}", complex ? "complex" : "real",
                                 complex ? "real" : "complex",
                                 complex ? "a complex b, whose imaginary parts may be zero"
                                         : "the real and the imaginary parts of b as two "
                                           "right-hand sides, or a complex A"));
  }
  b.check(all, a.numbers());
}

std::string number_text(const std::string& element, Field field, std::int64_t number,
                        double value) {
  const char* part = field == Field::real ? ""
                     : number % 2 == 0    ? "the real part of "
                                          : "the imaginary part of ";
  return fmt::format("{}{} is {}", part, element, value);
}

std::string wrong_value(std::span<const double> b, std::int64_t k, Field field) {
  const auto bad = std::ranges::find_if(b, [](double v) { return !std::isfinite(v); });
  if (bad == b.end()) return "";
  const std::int64_t number = bad - b.begin();
  return number_text(fmt::format("b({}, {})", number / parts_of(field) + 1, k + 1), field, number,
                     *bad) +
         " (counted from 1); allowed are finite numbers";
}

namespace {

void conjugate(std::span<double> pairs) {
  for (std::size_t i = 1; i < pairs.size(); i += 2) pairs[i] = -pairs[i];
}

}  // namespace

void ConjugatedSides::get(const ProcessGrid& grid, std::int64_t k, std::span<double> b) const {
  b_.get(grid, k, b);
  conjugate(b);
}

void ConjugatedSides::put(const ProcessGrid& grid, std::int64_t k, std::span<const double> solution,
                          std::vector<double>& x) const {
  std::vector<double> conjugated(solution.begin(), solution.end());
  conjugate(conjugated);
  b_.put(grid, k, conjugated, x);
}

void require_order(std::int64_t n) {
  if (n < 1) throw UsageError(fmt::format("A is of order {}; allowed: at least 1", n));
}

void require_count(std::int64_t count) {
  if (count < 1) throw UsageError(fmt::format("b has {} columns; allowed: at least 1", count));
}

RowShares::RowShares(std::int64_t n, const Communicator& all)
    : mine(n, std::max<std::int64_t>(ceil_div(n, all.size()), 1), all.size(), all.rank()) {
  for (int rank = 0; rank < all.size(); ++rank)
    counts.push_back(Distribution(n, mine.block(), all.size(), rank).local_size());
}

void SolvedOnRank::prepare(const ProcessGrid& grid, std::int64_t n, std::vector<double>& x) const {
  const std::int64_t size = has_x(grid) ? n * std::max<std::int64_t>(count(), 1) : 0;
  agree(grid.all(), [&] { x.assign(static_cast<std::size_t>(size), 0.0); });
}

void SolvedOnRank::put(const ProcessGrid& grid, std::int64_t k, std::span<const double> solution,
                       std::vector<double>& x) const {
  if (has_x(grid)) std::ranges::copy(solution, x.begin() + k * std::ssize(solution));
}

std::span<const double> SolvedOnRank::stored(const ProcessGrid& grid, std::int64_t k,
                                             const std::vector<double>& x) const {
  if (!has_x(grid)) return {};
  const std::size_t n = x.size() / static_cast<std::size_t>(std::max<std::int64_t>(count(), 1));
  return std::span(x).subspan(static_cast<std::size_t>(k) * n, n);
}

void require_one(std::int64_t count, const std::function<std::string(std::int64_t k)>& wrong) {
  std::string first;
  for (std::int64_t k = 0; k < count; ++k) {
    const std::string why = wrong(k);
    if (why.empty()) return;
    if (first.empty()) first = why;
  }
  throw UsageError(first);
}

}  // namespace speedwell
