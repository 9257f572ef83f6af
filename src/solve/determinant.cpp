// SPDX-License-Identifier: BSD-3-Clause
#include "solve/determinant.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <limits>
#include <numeric>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "comm/agreement.hpp"
#include "core/expects.hpp"
#include "core/numbers.hpp"
#include "host/thread_scope.hpp"
#include "solve/answers.hpp"
#include "solve/stepped_solver.hpp"
#include "solve/zero_determinant.hpp"

namespace speedwell {

namespace {

// Of the rank's entries on the diagonal of U.
PivotProduct of_rank(Device& device, const DistributedMatrix& lu) {
  PivotProduct mine;
  const auto queue = device.make_queue(Priority::normal);
  for (const Run& run : lu.rows().runs())
    for (std::int64_t k = 0; k < run.length; ++k) {
      const GlobalIndex g = run.global + k;
      if (!lu.columns().mine(g)) continue;
      const AnyMatrix entry = lu.from(run.local + k, lu.columns().local(g)).block(0, 0, 1, 1);
      with_numbers(entry, [&](const auto& u) {
        using Number = std::remove_reference_t<decltype(u(0, 0))>;
        Number value{};
        device.download(*queue, u.data, std::span(&value, 1));
        if constexpr (std::is_same_v<Number, double> ||
                      std::is_same_v<Number, std::complex<double>>)
          mine.multiply(value);
      });
    }
  return mine;
}

// Why not one digit is certain; empty: some are. Collective.
std::string doubt_about(FactoredSystem& factored) {
  const ConditionEstimate& condition = factored.inverse().condition();
  const auto n = factored.system().n();
  const double measured = factored.factor_error().growth;
  const std::string of_growth =
      has_grown(measured, n) ? fmt::format(", and the entries grew by {:.2g} in the LU", measured)
                             : "";
  if (condition.at_least)
    return fmt::format(
        "the factors tell no bound of the error of the determinant: the condition number of A is "
        "at least {:.2g}{}",
        condition.value, of_growth);
  const double growth = std::isnan(measured) ? std::max(100.0, static_cast<double>(n)) : measured;
  const double error = determinant_error(growth, condition.value);
  if (error < no_digit) return "";
  return fmt::format(
      "no digit of the determinant is certain, nor is its sign: the estimated bound of its error "
      "is {:.2g} of its size (condition number {:.2g}, estimated{})",
      error, condition.value, of_growth);
}

template <class T>
bool is_exactly_singular(Device& device, const UserMatrix& a) {
  const std::int64_t n = a.element_columns().size();
  const auto order = static_cast<std::size_t>(n);
  std::vector<T> copy(order * order);
  const auto queue = device.make_queue(Priority::normal);
  for (std::size_t j = 0; j < order; ++j) {
    const double* from = a.local().as<double>().column(static_cast<std::int64_t>(j));
    device.download(*queue, reinterpret_cast<const T*>(from),
                    std::span(copy).subspan(j * order, order));
  }
  return ZeroTest().is_zero(MatrixView<const T>{copy.data(), n, n, n});
}

}  // namespace

PivotProduct determinant_of(const Communicator& all, Device& device, const DistributedMatrix& lu,
                            std::int64_t exchanges, const Equilibration& scales) {
  SPEEDWELL_EXPECTS(lu.storage() == Precision::fp64);
  const PivotProduct mine = agreed(all, [&] { return of_rank(device, lu); });
  const std::vector<double> parts = all.all_gather(std::array{
      mine.mantissa().real(), mine.mantissa().imag(), static_cast<double>(mine.exponent())});
  PivotProduct whole;
  for (std::size_t i = 0; i < parts.size(); i += 3)
    whole.multiply({parts[i], parts[i + 1]}, static_cast<std::int64_t>(parts[i + 2]));
  if (exchanges % 2 != 0) whole.negate();
  const auto sum = [](const std::vector<int>& exponents) {
    return std::accumulate(exponents.begin(), exponents.end(), std::int64_t{0});
  };
  // Of a complex matrix each exponent stands twice.
  whole.scale(-(sum(scales.rows) + sum(scales.columns)) / parts_of(lu.field()));
  return whole;
}

double determinant_error(double growth, double condition) {
  return 2 * std::max(growth, 1.0) * condition * eps;
}

bool is_exactly_singular(Device& device, const UserMatrix& a) {
  const bool whole = a.rows().processes() == 1 && a.columns().processes() == 1;
  if (!whole || a.element_columns().size() > ZeroTest::most) return false;
  return a.field() == Field::complex ? is_exactly_singular<std::complex<double>>(device, a)
                                     : is_exactly_singular<double>(device, a);
}

Determinant judged(const PivotProduct& product, FactoredSystem& factored, Device& device,
                   const UserMatrix& a) {
  Determinant found{product.sign(), product.log_magnitude(), product.mantissa(), product.exponent(),
                    doubt_about(factored)};
  if (found.doubt.empty() || !is_exactly_singular(device, a)) return found;
  return {0, -std::numeric_limits<double>::infinity(), 0, 0, ""};
}

// The rotations of a rotated step have the determinant 1.
Determinant SteppedSolver::determinant() {
  const ThreadScope threads(machine_.threads());
  if (!factors_ && !restart()) fail({});
  Determinant found;
  for (int reads = -1; reads != reads_;) {
    reads = reads_;
    while (precision() != Precision::fp64 || may_rotate()) {
      if (precision() == Precision::fp64) plan_rotated();
      if (last())
        throw UsageError(
            fmt::format("a determinant needs factors in FP64; precision is {}; allowed: "
                        "auto, fp64",
                        name(options_.precision)));
      if (!advance()) fail({});
    }
    const auto& pivots = factors_->outcome().pivots;
    std::int64_t exchanges = 0;
    for (std::size_t i = 0; i < pivots.size(); ++i)
      exchanges += std::cmp_not_equal(pivots[i], i) ? 1 : 0;
    found = judged(
        determinant_of(all(), machine_.device(), factors_->lu(), exchanges, scaled_->scales()),
        factors_->factored(Transpose::no), machine_.device(), *a_);
    if (read_again() && !advance()) fail({});
    // Other scales may leave a condition number that tells more.
    if (reads == reads_ && !found.doubt.empty() && may_rescale(0)) {
      plan_rescaled();
      if (!advance()) fail({});
      reads = -1;
    }
  }
  return found;
}

}  // namespace speedwell
