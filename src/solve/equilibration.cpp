// SPDX-License-Identifier: BSD-3-Clause
#include "solve/equilibration.hpp"

#include <fmt/format.h>
#include <lupine/error.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "comm/interruption.hpp"

namespace lupine {

namespace {

// A scale is 2^e with |e| <= max_exponent, so the scale and its inverse are normal numbers.
constexpr int max_exponent = 1022;
constexpr int lift = 1000;  // see column_exponents()

// 2^e, with e limited to [-max_exponent, max_exponent].
double power(int e) {
  return std::ldexp(1.0, std::clamp(e, -max_exponent, max_exponent));
}

class Equilibrator {
 public:
  Equilibrator(const ProcessGrid& grid, Device& device, const UserMatrix& a)
      : grid_(grid), device_(device), a_(a), queue_(device.make_queue(Priority::normal)) {}

  /// max_j |a_ij| of all rows, on every rank.
  Vector largest_of_rows() {
    Vector found = reduced(a_.rows(), {}, [&](const double*, double* to) {
      device_.largest_of_rows(*queue_, a_.local(), nullptr, to);
    });
    grid_.row().all_reduce(found, Reduction::max);
    return VectorSpace(grid_, Layout::rows).gather(a_.rows(), found);
  }

  /// max_i weights_i |a_ij| of all columns, on every rank.
  Vector largest_of_columns(const Vector& weights) {
    Vector found =
        reduced(a_.columns(), local_part(a_.rows(), weights), [&](const double* from, double* to) {
          device_.largest_of_columns(*queue_, a_.local(), from, to);
        });
    grid_.column().all_reduce(found, Reduction::max);
    return VectorSpace(grid_, Layout::columns).gather(a_.columns(), found);
  }

  [[noreturn]] void refuse_non_finite();

 private:
  template <class Work>
  Vector reduced(const Distribution& to, const Vector& weights, const Work& work) {
    constexpr std::int64_t size = sizeof(double);
    const Buffer from = device_.allocate(std::max<std::int64_t>(std::ssize(weights), 1) * size);
    const Buffer found = device_.allocate(std::max<std::int64_t>(to.local_size(), 1) * size);
    Vector result(static_cast<std::size_t>(to.local_size()));
    device_.upload(*queue_, weights, from.as<double>());
    work(from.as<double>(), found.as<double>());
    device_.download(*queue_, found.as<double>(), result);
    stop_if_interrupted(grid_.all(), device_.interrupt());
    return result;
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
    first[0] = a_.columns().global({j}).value * n + a_.rows().global({bad - column.begin()}).value;
  }
  const std::int64_t mine = first[0];
  grid_.all().all_reduce(first, Reduction::min);
  std::int64_t i = mine % n + 1;
  std::int64_t j = mine / n + 1;
  if (a_.transposed()) std::swap(i, j);
  const std::vector<std::string> words =
      grid_.all().all_gather(mine == first[0] ? fmt::format("A({}, {}) is {}", i, j, value) : "");
  for (const std::string& word : words)
    if (!word.empty()) throw UsageError(word + " (counted from 1); allowed are finite numbers");
  throw UsageError("A has an Inf or NaN; allowed are finite numbers");
}

/// Exponents of c_j = 1 / max_i r_i |a_ij|. If a maximum is not a normal number, products may have
/// underflowed: the maxima are then computed again with r_i 2^1000, which reaches down to 2^-2074,
/// and the larger result counts. The second computation leaves out rows whose r_i 2^1000 would
/// overflow: their r_i is above 1, so r_i |a_ij| does not underflow.
std::vector<int> column_exponents(Equilibrator& a, const std::vector<int>& row_exponents) {
  Vector weights(row_exponents.size());
  std::transform(row_exponents.begin(), row_exponents.end(), weights.begin(), power);
  const Vector largest = a.largest_of_columns(weights);
  Vector lifted(largest.size(), 0.0);
  const auto underflows = [](double m) { return m < std::numeric_limits<double>::min(); };
  if (std::any_of(largest.begin(), largest.end(), underflows)) {
    for (std::size_t i = 0; i < weights.size(); ++i)
      weights[i] = row_exponents[i] + lift <= max_exponent ? power(row_exponents[i] + lift) : 0;
    lifted = a.largest_of_columns(weights);
  }
  std::vector<int> exponents(largest.size(), 0);
  for (std::size_t j = 0; j < exponents.size(); ++j) {
    const std::optional<int> plain = exponent(largest[j]);
    const std::optional<int> high = exponent(lifted[j]);
    if (plain || high)
      exponents[j] = -std::max(plain.value_or(-2 * lift - max_exponent),
                               high ? *high - lift : -2 * lift - max_exponent);
  }
  return exponents;
}

// R <- R 2^-s and C <- C 2^s, with s such that the exponents of C lie around zero.
void share(Equilibration& e) {
  const auto [low, high] = std::minmax_element(e.columns.begin(), e.columns.end());
  const int shift = -(*low + *high) / 2;
  for (int& c : e.columns) c += shift;
  for (int& r : e.rows) r -= shift;
}

}  // namespace

bool Equilibration::scales() const {
  const auto one = [](int e) { return e == 0; };
  return !std::all_of(rows.begin(), rows.end(), one) ||
         !std::all_of(columns.begin(), columns.end(), one);
}

Scales Equilibration::local(const Distribution& row_part, const Distribution& column_part) const {
  if (!scales()) return {};
  const auto numbers = [](const std::vector<int>& exponents) {
    Vector all(exponents.size());
    std::transform(exponents.begin(), exponents.end(), all.begin(), power);
    return all;
  };
  return {local_part(row_part, numbers(rows)), local_part(column_part, numbers(columns))};
}

Equilibration equilibrate(const ProcessGrid& grid, Device& device, const UserMatrix& a,
                          bool wanted) {
  Equilibrator equilibrator(grid, device, a);
  const Vector largest = equilibrator.largest_of_rows();
  if (!std::all_of(largest.begin(), largest.end(), [](double m) { return std::isfinite(m); }))
    equilibrator.refuse_non_finite();
  const auto n = static_cast<std::size_t>(a.rows().size());
  Equilibration result{std::vector<int>(n, 0), std::vector<int>(n, 0)};
  if (!wanted) return result;
  for (std::size_t i = 0; i < n; ++i)
    result.rows[i] = std::clamp(-exponent(largest[i]).value_or(0), -max_exponent, max_exponent);
  result.columns = column_exponents(equilibrator, result.rows);
  share(result);
  return result;
}

}  // namespace lupine
