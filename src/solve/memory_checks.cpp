// SPDX-License-Identifier: BSD-3-Clause
#include "solve/memory_checks.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "core/numbers.hpp"
#include "device/checksum_keys.hpp"
#include "host/threads.hpp"
#include "solve/proofs.hpp"

namespace speedwell {

namespace {

bool differs(const std::optional<MatrixChecksum>& wanted, std::span<const double> v) {
  return wanted && *wanted != checksum_of(v);
}

}  // namespace

int scale_side(const System& system, const ScaledMatrix& matrix, const Equilibration& scales,
               std::span<const double> b, std::span<double> right) {
  const int shift = largest_exponent(b, scales.rows).value_or(0) - matrix.exponent_of_b();
  for (const Run& run : system.b_part().runs())
    for (std::int64_t i = 0; i < run.length; ++i) {
      const auto from = static_cast<std::size_t>(run.global.value + i);
      right[static_cast<std::size_t>(run.local.value + i)] =
          times_power(b[from], scales.rows[from] - shift);
    }
  return shift;
}

std::string what_changed(const SolvedSides& s) {
  const auto count = static_cast<std::size_t>(s.b.count());
  std::vector<char> of_b(count, 0);
  std::vector<char> of_x(count, 0);
  for_each_in_threads(s.b.count(), [&](std::int64_t k) {
    const auto i = static_cast<std::size_t>(k);
    of_b[i] = !s.b_read.empty() && differs(s.b_read[i], s.b[k]) ? 1 : 0;
    if (!s.right_read[i]) return;
    Vector right(static_cast<std::size_t>(s.system.b_part().local_size()));
    const int shift = scale_side(s.system, s.matrix, s.scales, s.b[k], right);
    if (shift != s.shifts[i] || differs(s.right_read[i], right)) of_b[i] = 1;
    if (!s.y_read[i] || differs(s.y_read[i], s.y[k])) of_x[i] = 1;
  });
  const auto any = [](const std::vector<char>& of) {
    return std::int64_t{std::ranges::find(of, 1) != of.end()};
  };
  const bool same_scales = s.matrix.holds(s.scales, s.op) && s.system.scales_hold();
  std::array<std::int64_t, 3> changed{same_scales ? 0 : 1, any(of_b), any(of_x)};
  s.system.grid().all().all_reduce(changed, Reduction::max);
  if (changed[0] != 0) return "the scales of A have changed in memory since they were found";
  if (changed[1] != 0) return "b has changed in memory since it was read";
  return changed[2] != 0 ? "x has changed in memory since it was found" : "";
}

void StoredSolutions::put(const ProcessGrid& grid, const RightHandSideSource& b, std::int64_t k,
                          std::span<const double> solution,
                          const std::optional<MatrixChecksum>& made, std::vector<double>& x) {
  b.put(grid, k, solution, x);
  sums_[static_cast<std::size_t>(k)] = checksum_of(b.stored(grid, k, x));
  if (differs(made, solution)) broken_ = true;
}

bool StoredSolutions::hold(const ProcessGrid& grid, const RightHandSideSource& b,
                           const std::vector<double>& x) const {
  bool changed = broken_;
  for (std::size_t k = 0; k < sums_.size(); ++k)
    changed = changed || differs(sums_[k], b.stored(grid, static_cast<std::int64_t>(k), x));
  return grid.all().all_reduce(std::int64_t{changed}, Reduction::max) == 0;
}

}  // namespace speedwell
