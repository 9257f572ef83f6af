// SPDX-License-Identifier: BSD-3-Clause
#include "solve/determinant.hpp"

#include <array>
#include <cmath>
#include <complex>
#include <numbers>
#include <numeric>
#include <type_traits>
#include <vector>

#include "comm/agreement.hpp"
#include "core/expects.hpp"

namespace lupine {

namespace {

// Of the rank's entries on the diagonal of U.
Determinant of_rank(Device& device, const DistributedMatrix& lu) {
  Determinant mine;
  const auto queue = device.make_queue(Priority::normal);
  for (const Run& run : lu.rows().runs())
    for (std::int64_t k = 0; k < run.length; ++k) {
      const GlobalIndex g = run.global + k;
      if (!lu.columns().mine(g)) continue;
      const AnyMatrix entry = lu.from(run.local + k, lu.columns().local(g)).block(0, 0, 1, 1);
      with_numbers(entry, [&](const auto& u) {
        std::remove_reference_t<decltype(u(0, 0))> value{};
        device.download(*queue, u.data, std::span(&value, 1));
        const auto magnitude = static_cast<double>(std::abs(value));
        mine.sign *= std::complex<double>(value) / magnitude;
        mine.log_magnitude += std::log(magnitude);
      });
    }
  return mine;
}

}  // namespace

Determinant determinant_of(const Communicator& all, Device& device, const DistributedMatrix& lu,
                           std::int64_t exchanges, const Equilibration& scales) {
  LUPINE_EXPECTS(lu.storage() == Precision::fp64);
  const Determinant mine = agreed(all, [&] { return of_rank(device, lu); });
  const std::vector<double> parts =
      all.all_gather(std::array{mine.sign.real(), mine.sign.imag(), mine.log_magnitude});
  Determinant whole;
  for (std::size_t i = 0; i < parts.size(); i += 3) {
    whole.sign *= std::complex<double>(parts[i], parts[i + 1]);
    whole.log_magnitude += parts[i + 2];
  }
  whole.sign /= std::abs(whole.sign);  // what its factors' roundings have changed
  if (exchanges % 2 != 0) whole.sign = -whole.sign;
  const auto sum = [](const std::vector<int>& exponents) {
    return std::accumulate(exponents.begin(), exponents.end(), std::int64_t{0});
  };
  // Of a complex matrix each exponent stands twice.
  const auto exponents = (sum(scales.rows) + sum(scales.columns)) / parts_of(lu.field());
  whole.log_magnitude -= std::numbers::ln2 * static_cast<double>(exponents);
  return whole;
}

}  // namespace lupine
