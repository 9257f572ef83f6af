// SPDX-License-Identifier: BSD-3-Clause
#include "device/emulation_workspace.hpp"

#include <algorithm>
#include <cmath>

namespace speedwell {

namespace {

double up(double value, double unit) {
  return std::ceil(value / unit) * unit;
}

}  // namespace

double emulation_workspace(double rows, double columns, double inner) {
  constexpr int bytes = (emulated_bits + 1 + 7) / 8;  // of a number with its sign
  constexpr double slices = bytes;
  constexpr double most_sums = 0x1p32;  // bytes, for each part of `inner`
  constexpr double part_of_inner = 8192;
  constexpr double margin = 1.25;
  constexpr double constant = 0x1p27;
  const double m = up(rows, 1024);
  const double n = up(columns, 1024);
  const double copies = (m + n) * up(inner, 128) * slices;
  const double scales = 4 * (m + n);
  const double sums = std::min(4 * m * n * slices, most_sums) * std::ceil(inner / part_of_inner);
  // What finds the number of bits: a number for 64 values of a row or column, and for each sum.
  const double search = 4 * ((rows + columns) * std::ceil(inner / 64) + rows * columns);
  return margin * std::max(copies + scales + sums, search) + constant;
}

double emulation_bytes(const LuPlan& plan) {
  if (plan.precision != Precision::fp64 || plan.fp64 == Fp64Products::native) return 0;
  const std::int64_t columns =
      std::min(plan.chunk_of(plan.columns().local_size()), fp64_update_columns);
  return emulation_workspace(static_cast<double>(plan.parts() * plan.rows().local_size()),
                             static_cast<double>(columns),
                             static_cast<double>(plan.parts() * plan.nb));
}

}  // namespace speedwell
