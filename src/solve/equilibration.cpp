// SPDX-License-Identifier: BSD-3-Clause
#include "solve/equilibration.hpp"

#include <fmt/format.h>
#include <speedwell/error.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>
#include <utility>

#include "comm/agreement.hpp"
#include "comm/interruption.hpp"
#include "core/expects.hpp"
#include "refine/pairs.hpp"
#include "source/source.hpp"

namespace speedwell {

namespace {

constexpr int lowest = -1024;  // of the exponents of what is scaled first
constexpr int highest = 1022;
constexpr int moderate = 400;
constexpr int far = 400;          // exponent of the largest number of an A that is not equilibrated
constexpr int lift = 1000;        // see exponents_after()
constexpr int below_all = -4000;  // exponents

double power(int e) {
  return std::ldexp(1.0, e);
}

class Equilibrator {
 public:
  Equilibrator(const ProcessGrid& grid, Device& device, const UserMatrix& a)
      : grid_(grid), device_(device), a_(a), queue_(device.make_queue(Priority::normal)) {}

  /// max_j weights_j |a_ij| of all rows i (Layout::rows), or the same of all columns, on every
  /// rank, as Equilibration has them. No weights stand for ones. *checksums <- those of the rank's
  /// part, where not null.
  Vector largest(Layout along, const Vector& weights = {},
                 std::vector<std::uint64_t>* checksums = nullptr) {
    const bool rows = along == Layout::rows;
    const Distribution columns = a_.element_columns();
    const Distribution& to = rows ? a_.rows() : columns;
    constexpr std::int64_t size = sizeof(double);
    const Vector mine = weights.empty() ? Vector{}
                        : rows          ? local_part(columns, of_columns(a_.field(), weights))
                                        : local_part(a_.rows(), weights);
    Vector result(static_cast<std::size_t>(to.local_size()));
    if (checksums) checksums->resize(static_cast<std::size_t>(columns.local_size()) + 1);
    agree(grid_.all(), [&] {
      const auto room = [&](std::int64_t count) {
        return device_.allocate(std::max<std::int64_t>(count, 1) * size);
      };
      const Buffer scale = room(std::ssize(mine));
      const Buffer found = room(to.local_size());
      const Buffer sums = room(checksums ? std::ssize(*checksums) : 0);
      device_.upload(*queue_, mine, scale.as<double>());
      const double* const given = weights.empty() ? nullptr : scale.as<double>();
      auto* const to_sums = checksums ? sums.as<std::uint64_t>() : nullptr;
      if (rows)
        device_.largest_of_rows(*queue_, a_.local(), given, found.as<double>(), to_sums);
      else
        device_.largest_of_columns(*queue_, a_.local(), given, found.as<double>(), to_sums);
      device_.download(*queue_, found.as<double>(), result);
      if (checksums) device_.download(*queue_, to_sums, *checksums);
    });
    const VectorSpace space(grid_, along);
    space.alike().all_reduce(result, Reduction::max);
    return of_elements(along, space.gather(to, result));
  }

  [[noreturn]] void refuse_non_finite();

 private:
  // Of a complex A: rows of H in twos become rows of elements, and each of these, or each column,
  // stands twice.
  Vector of_elements(Layout along, Vector of_h) const {
    if (a_.field() == Field::real) return of_h;
    if (along == Layout::columns) {
      Vector twice(2 * of_h.size());
      for (std::size_t i = 0; i < twice.size(); ++i) twice[i] = of_h[i / 2];
      return twice;
    }
    for (std::size_t i = 0; i < of_h.size(); i += 2)
      of_h[i] = of_h[i + 1] = std::max(of_h[i], of_h[i + 1]);
    return of_h;
  }

  const ProcessGrid& grid_;
  Device& device_;
  const UserMatrix& a_;
  std::unique_ptr<Queue> queue_;
};

// Names the first Inf or NaN in column order, by its place in the user's matrix. Every rank
// searches its part, column by column.
void Equilibrator::refuse_non_finite() {
  const ConstAnyMatrix local = a_.local();
  constexpr auto none = std::numeric_limits<std::int64_t>::max();
  std::array<std::int64_t, 1> first{none};
  double value = 0;
  Vector column(static_cast<std::size_t>(local.rows));
  const std::int64_t n = a_.rows().size();
  for (std::int64_t j = 0; j < local.columns && first[0] == none; ++j) {
    device_.download(*queue_, local.as<double>().column(j), column);
    const auto bad =
        std::find_if(column.begin(), column.end(), [](double v) { return !std::isfinite(v); });
    if (bad == column.end()) continue;
    value = *bad;
    first[0] =
        a_.element_columns().global({j}).value * n + a_.rows().global({bad - column.begin()}).value;
  }
  const std::int64_t mine = first[0];
  grid_.all().all_reduce(first, Reduction::min);
  std::int64_t i = mine % n / parts_of(a_.field()) + 1;
  std::int64_t j = mine / n + 1;
  if (a_.transposed()) std::swap(i, j);
  const std::vector<std::string> words = grid_.all().all_gather(
      mine == first[0] ? number_text(fmt::format("A({}, {})", i, j), a_.field(), mine, value) : "");
  for (const std::string& word : words)
    if (!word.empty()) throw UsageError(word + " (counted from 1); allowed are finite numbers");
  throw UsageError("A has an Inf or NaN; allowed are finite numbers");
}

// The exponents that bring largest magnitudes into [1/2, 1), as far as they may.
std::vector<int> exponents_of(const Vector& largest) {
  std::vector<int> exponents(largest.size());
  std::ranges::transform(largest, exponents.begin(), [](double most) {
    return std::clamp(-exponent(most).value_or(0), lowest, highest);
  });
  return exponents;
}

/// The exponents of the columns (or rows: `along`) after rows (columns) have got the exponents
/// `first`. A maximum of the scaled magnitudes that is not a normal number may come of an
/// underflow: the maxima are then computed again with all scales 2^1000 times as large, which
/// reaches down to 2^-2074, and the larger result counts. The second computation leaves out scales
/// that would overflow: these are above 1, so their products do not underflow.
std::vector<int> exponents_after(const std::vector<int>& first, Equilibrator& a, Layout along) {
  Vector weights(first.size());
  std::ranges::transform(first, weights.begin(), power);
  const Vector plain = a.largest(along, weights);
  Vector lifted(plain.size(), 0.0);
  const auto underflows = [](double m) { return m < std::numeric_limits<double>::min(); };
  if (std::ranges::any_of(plain, underflows)) {
    std::ranges::transform(first, weights.begin(),
                           [](int e) { return e + lift <= highest ? power(e + lift) : 0; });
    lifted = a.largest(along, weights);
  }
  std::vector<int> exponents(plain.size(), 0);
  for (std::size_t j = 0; j < exponents.size(); ++j) {
    const int high = exponent(lifted[j]).value_or(below_all) - lift;
    const int found = std::max(exponent(plain[j]).value_or(below_all), high);
    exponents[j] = plain[j] == 0 && lifted[j] == 0 ? 0 : std::clamp(-found, 0, 2 * highest);
  }
  return exponents;
}

bool are_moderate(const std::vector<int>& exponents) {
  return std::ranges::all_of(exponents, [](int e) { return std::abs(e) <= moderate; });
}

}  // namespace

std::optional<int> largest_exponent(std::span<const double> v, const std::vector<int>& exponents) {
  constexpr int none = std::numeric_limits<int>::min();
  int most = none;
  for (std::size_t i = 0; i < v.size(); ++i)
    if (const std::optional<int> e = exponent(v[i])) most = std::max(most, *e + exponents[i]);
  return most == none ? std::nullopt : std::optional(most);
}

bool Equilibration::scales() const {
  const auto one = [](int e) { return e == 0; };
  return !std::all_of(rows.begin(), rows.end(), one) ||
         !std::all_of(columns.begin(), columns.end(), one);
}

int Equilibration::spread() const {
  const auto of = [](const std::vector<int>& exponents) {
    const auto [least, most] = std::ranges::minmax(exponents);
    return most - least;
  };
  return std::max(of(rows), of(columns));
}

Scales Equilibration::local(const Distribution& row_part, const Distribution& column_part) const {
  SPEEDWELL_EXPECTS(is_moderate);
  if (!scales()) return {};
  const auto numbers = [](const std::vector<int>& exponents) {
    Vector all(exponents.size());
    std::transform(exponents.begin(), exponents.end(), all.begin(), power);
    return all;
  };
  return {local_part(row_part, numbers(rows)), local_part(column_part, numbers(columns))};
}

Equilibration equilibrate(const ProcessGrid& grid, Device& device, const UserMatrix& a,
                          Scaling scaling, std::vector<std::uint64_t>* checksums) {
  Equilibrator equilibrator(grid, device, a);
  const bool columns_first = a.transposed() != (scaling == Scaling::columns_first);
  const Layout first = columns_first ? Layout::columns : Layout::rows;
  if (checksums && a.is_copy()) *checksums = a.checksums();
  const Vector largest = equilibrator.largest(first, {}, a.is_copy() ? nullptr : checksums);
  if (!std::ranges::all_of(largest, [](double most) { return std::isfinite(most); }))
    equilibrator.refuse_non_finite();
  std::vector<int> of_first = exponents_of(largest);
  std::vector<int> of_second(of_first.size(), 0);
  Equilibration result;
  if (scaling != Scaling::off) {
    of_second = exponents_after(of_first, equilibrator, other(first));
    result.is_moderate = are_moderate(of_first) && are_moderate(of_second);
  } else {
    const double most = std::ranges::max(largest);
    const int top = exponent(most).value_or(0);
    const int shift = top - std::clamp(top, -far, far);
    result.is_moderate = shift == 0;
    std::ranges::fill(of_first, -shift);
    if (most > 0) result.largest = std::ldexp(most, -shift);
  }
  result.rows = std::move(of_first);
  result.columns = std::move(of_second);
  return result.of(columns_first ? Transpose::yes : Transpose::no);
}

}  // namespace speedwell
