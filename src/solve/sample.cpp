// SPDX-License-Identifier: BSD-3-Clause
#include "solve/sample.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "comm/agreement.hpp"
#include "core/numbers.hpp"
#include "core/random.hpp"
#include "device/cpu/pivoted_lu.hpp"
#include "host/lapack.hpp"
#include "host/lapack_lu.hpp"
#include "refine/norm_estimate.hpp"

namespace speedwell {

namespace {

constexpr std::int64_t least_order = 64;
constexpr std::int64_t most_order = 1024;
constexpr std::int64_t least_step = 8;

// The rows and columns of the sample, ascending: one of each `step`, drawn at random, so that no
// pattern of A can lie between them. Rows and columns are the same, since diagonals may be large.
std::vector<std::int64_t> drawn(std::int64_t step, std::int64_t order, std::uint64_t seed) {
  std::vector<std::int64_t> places(static_cast<std::size_t>(order));
  const Probes random(seed, ProbeUse::sample);
  for (std::int64_t k = 0; k < order; ++k)
    places[static_cast<std::size_t>(k)] =
        k * step + static_cast<std::int64_t>(random.bits(static_cast<std::uint64_t>(k)) %
                                             static_cast<std::uint64_t>(step));
  return places;
}

// Those that are this rank's, as local indices.
std::vector<std::int64_t> local_of(const Distribution& mine, std::span<const std::int64_t> places) {
  std::vector<std::int64_t> all;
  for (const std::int64_t place : places)
    if (const GlobalIndex g{place}; mine.mine(g)) all.push_back(mine.local(g).value);
  return all;
}

// The rank's entries of S; the others are zero. S is column-major; of a complex A it is the real
// matrix with a 2 x 2 block for each element of the sample, whose first column is one of H.
std::vector<double> my_sample(Device& device, const UserMatrix& a, const Equilibration& scales,
                              std::int64_t step, std::int64_t order, std::uint64_t seed) {
  const std::vector<std::int64_t> places = drawn(step, order, seed);
  const std::int64_t parts = parts_of(a.field());
  const Distribution of_rows = a.element_rows();
  const Distribution of_columns = a.element_columns();
  std::vector<std::int64_t> rows;
  for (const std::int64_t row : local_of(of_rows, places))
    for (std::int64_t p = 0; p < parts; ++p) rows.push_back(parts * row + p);
  const std::vector<std::int64_t> columns = local_of(of_columns, places);
  const std::int64_t size = parts * order;
  std::vector<double> s(static_cast<std::size_t>(size * size), 0.0);
  if (rows.empty() || columns.empty()) return s;
  const auto queue = device.make_queue(Priority::normal);
  const auto m = std::ssize(rows);
  const auto k = std::ssize(columns);
  const Buffer indices = device.allocate(m * std::int64_t{sizeof(std::int64_t)});
  const Buffer entries = device.allocate(m * k * std::int64_t{sizeof(double)});
  device.upload(*queue, rows, indices.as<std::int64_t>());
  const AnyMatrix gathered{Precision::fp64, entries.data(), m, k, m};
  for (std::int64_t j = 0; j < k; ++j)
    device.gather_rows(*queue, indices.as<std::int64_t>(),
                       a.local().block(0, columns[static_cast<std::size_t>(j)], a.local().rows, 1),
                       gathered.block(0, j, m, 1));
  std::vector<double> mine(static_cast<std::size_t>(m * k));
  device.download(*queue, entries.as<double>(), mine);
  for (std::int64_t j = 0; j < k; ++j)
    for (std::int64_t i = 0; i < m; ++i) {
      const std::int64_t row =
          of_rows.global(LocalIndex{rows[static_cast<std::size_t>(i)] / parts}).value;
      const std::int64_t column =
          of_columns.global(LocalIndex{columns[static_cast<std::size_t>(j)]}).value;
      const double value = std::ldexp(mine[static_cast<std::size_t>(i + j * m)],
                                      scales.rows[static_cast<std::size_t>(parts * row)] +
                                          scales.columns[static_cast<std::size_t>(parts * column)]);
      const std::int64_t part = i % parts;
      const auto at = [&](std::int64_t p, std::int64_t q) -> double& {
        return s[static_cast<std::size_t>(row / step * parts + p +
                                          (column / step * parts + q) * size)];
      };
      at(part, 0) = value;
      if (parts == 2) at(1 - part, 1) = part == 0 ? value : -value;
    }
  return s;
}

// ||S||_inf ||S^-1||_inf; NaN if a pivot is zero. ||S^-1||_inf = ||S^-T||_1.
double condition_of(std::vector<double> s, std::int64_t order, std::uint64_t seed) {
  std::vector<double> sums(static_cast<std::size_t>(order), 0.0);
  for (std::size_t i = 0; i < s.size(); ++i) sums[i % sums.size()] += std::fabs(s[i]);
  std::vector<int> pivots(sums.size());
  const MatrixView<double> lu{s.data(), order, order, order};
  if (factor_pivoted<double>(lu, pivots) >= 0) return unknown;
  const auto solve = [&](Transpose transpose) {
    return [&, transpose](const std::vector<Probe>& probes) {
      std::vector<Vector> products;
      for (const Probe& probe : probes)
        solve_by_lapack<double>(transpose, lu, pivots, products.emplace_back(probe.v));
      return products;
    };
  };
  return largest(sums) *
         estimate_one_norms(order, 1, solve(Transpose::yes), solve(Transpose::no), seed)
             .front()
             .norm;
}

}  // namespace

std::int64_t sample_order(std::int64_t n) {
  const std::int64_t order = std::min(n / least_step, most_order);
  return order < least_order ? 0 : order;
}

double sampled_condition(const ProcessGrid& grid, Device& device, const UserMatrix& a,
                         const Equilibration& scales, std::uint64_t seed) {
  const std::int64_t n = a.element_rows().size();
  const std::int64_t parts = parts_of(a.field());
  const std::int64_t order = sample_order(a.rows().size()) / parts;
  if (order == 0 || !has_lapack()) return unknown;
  const std::int64_t step = n / order;
  std::vector<double> s =
      agreed(grid.all(), [&] { return my_sample(device, a, scales, step, order, seed); });
  grid.all().reduce_sum(s, 0);
  double condition = unknown;
  if (grid.all().rank() == 0)
    condition = condition_of(std::move(s), parts * order, seed) * static_cast<double>(step);
  grid.all().broadcast(std::span(&condition, 1), 0);
  return std::isfinite(condition) ? condition : unknown;
}

}  // namespace speedwell
