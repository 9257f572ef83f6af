// SPDX-License-Identifier: BSD-3-Clause
#include "compare/range_counts.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "comm/agreement.hpp"
#include "element/rounding.hpp"
#include "grid/step.hpp"

namespace speedwell {

namespace {

constexpr std::int64_t piece_bytes = std::int64_t{64} << 20;

/// The magnitudes that a precision holds without losing digits.
struct Range {
  double smallest;
  double beyond;  ///< rounded to infinity from here on
};
Range range_of(Precision precision) {
  switch (precision) {
    case Precision::fp16:
      return {0x1p-14, 65520};
    case Precision::bf16:
      return {0x1p-126, 0x1.ffp127};
    case Precision::fp32:
      return {0x1p-126, 0x1.ffffffp127};
    default:
      return {std::numeric_limits<double>::min(), std::numeric_limits<double>::infinity()};
  }
}

void count(double magnitude, const Range& range, RangeCounts& counts) {
  if (!(magnitude < range.beyond))
    ++counts.over;
  else if (magnitude != 0 && magnitude < range.smallest)
    ++counts.under;
}

double value_of(double stored) {
  return stored;
}
double value_of(float stored) {
  return static_cast<double>(stored);
}
template <class Half16>
double value_of(Half16 stored) {
  return static_cast<double>(to_float(stored));
}

/// Calls use(j, column) for each column of a device matrix of elements T, in host memory and by
/// several threads.
template <class T, class Use>
void for_each_column(Device& device, ConstAnyMatrix a, const Use& use) {
  if (a.empty()) return;
  const auto queue = device.make_queue(Priority::normal);
  const auto column_bytes = a.ld * std::int64_t{sizeof(T)};
  const std::int64_t strip = std::clamp<std::int64_t>(piece_bytes / column_bytes, 1, a.columns);
  std::vector<T> host;
  for (std::int64_t j = 0; j < a.columns; j += strip) {
    const std::int64_t columns = std::min(strip, a.columns - j);
    host.resize(static_cast<std::size_t>((columns - 1) * a.ld + a.rows));
    device.download(*queue, reinterpret_cast<const T*>(a.data) + j * a.ld, host);
#pragma omp parallel for schedule(static)
    for (std::int64_t c = 0; c < columns; ++c) use(j + c, host.data() + c * a.ld);
  }
}

RangeCounts sum_of(const Communicator& all, const std::vector<RangeCounts>& columns) {
  std::array<std::int64_t, 2> sums{};
  for (const RangeCounts& one : columns) {
    sums[0] += one.over;
    sums[1] += one.under;
  }
  all.all_reduce(sums, Reduction::sum);
  return {sums[0], sums[1]};
}

/// The step to which each local row, or column, belongs.
std::vector<std::int64_t> steps_of(const StepSequence& steps, std::int64_t size, Layout layout) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(size));
  for (std::int64_t k = 0; k < steps.count(); ++k) {
    const Step s = steps[k];
    const bool mine = layout == Layout::rows ? s.in_row : s.in_column;
    const std::int64_t first = layout == Layout::rows ? s.row.value : s.column.value;
    if (mine) std::fill_n(all.begin() + first, s.width(), k);
  }
  return all;
}

/// The counts of the rank's columns of factors that are stored as updates read them.
template <class T>
std::vector<RangeCounts> counts_of_stored(Device& device, ConstAnyMatrix lu) {
  std::vector<RangeCounts> counts(static_cast<std::size_t>(lu.columns));
  const Range range = range_of(lu.precision);
  for_each_column<T>(device, lu, [&](std::int64_t j, const T* column) {
    RangeCounts& mine = counts[static_cast<std::size_t>(j)];
    for (std::int64_t i = 0; i < lu.rows; ++i) {
      const double magnitude = std::fabs(value_of(column[i]));
      if (magnitude == 0 && sizeof(T) == 2) ++mine.under;
      count(magnitude, range, mine);
    }
  });
  return counts;
}

/// The counts of the rank's columns of FP32 factors, which are rounded to 16 bits step by step.
std::vector<RangeCounts> counts_of_rounded(Device& device, const DistributedMatrix& lu,
                                           const LuPlan& plan) {
  const AnyMatrix a = lu.local();
  const StepSequence steps(lu.rows(), lu.columns(), plan.width);
  const std::vector<std::int64_t> row_step = steps_of(steps, a.rows, Layout::rows);
  const std::vector<std::int64_t> column_step = steps_of(steps, a.columns, Layout::columns);
  const auto all_steps = static_cast<std::size_t>(steps.count());
  // Calls use(step, whether it is of U, magnitude) for each element off the diagonal blocks.
  const auto for_each = [&](std::int64_t j, const float* column, const auto& use) {
    const std::int64_t of_column = column_step[static_cast<std::size_t>(j)];
    for (std::int64_t i = 0; i < a.rows; ++i) {
      const std::int64_t of_row = row_step[static_cast<std::size_t>(i)];
      if (of_row != of_column)
        use(static_cast<std::size_t>(std::min(of_row, of_column)), of_row < of_column,
            std::fabs(column[i]));
    }
  };
  using Largest = std::array<std::vector<float>, 2>;  // of L and of U, by step
  Largest largest{std::vector<float>(all_steps), std::vector<float>(all_steps)};
  if (needs_scale(plan.precision))
    for_each_column<float>(device, a, [&](std::int64_t j, const float* column) {
      Largest mine{std::vector<float>(all_steps), std::vector<float>(all_steps)};
      for_each(j, column, [&](std::size_t k, bool upper, float magnitude) {
        mine[upper][k] = std::max(mine[upper][k], magnitude);
      });
#pragma omp critical
      for (const std::size_t part : {0u, 1u})
        std::ranges::transform(mine[part], largest[part], largest[part].begin(),
                               [](float x, float y) { return std::max(x, y); });
    });
  std::vector<RangeCounts> counts(static_cast<std::size_t>(a.columns));
  const Range range = range_of(plan.precision);
  const auto scale = [&](float most) {
    return needs_scale(plan.precision) ? power_of_two(fp16_scale_exponent(most)) : 1.0;
  };
  for_each_column<float>(device, a, [&](std::int64_t j, const float* column) {
    for_each(j, column, [&](std::size_t k, bool upper, float magnitude) {
      count(scale(largest[upper][k]) * static_cast<double>(magnitude), range,
            counts[static_cast<std::size_t>(j)]);
    });
  });
  return counts;
}

}  // namespace

RangeCounts range_counts(const Communicator& all, Device& device, const ScaledMatrix& a,
                         Precision to) {
  const ConstAnyMatrix local = a.matrix().local();
  std::vector<RangeCounts> counts(static_cast<std::size_t>(local.columns));
  const Range range = range_of(to);
  const Scales scales = a.scales().local(a.matrix().rows(), a.matrix().columns());
  const auto scale = [](const Vector& all_scales, std::int64_t i) {
    return all_scales.empty() ? 1.0 : all_scales[static_cast<std::size_t>(i)];
  };
  agree(all, [&] {
    for_each_column<double>(device, local, [&](std::int64_t j, const double* column) {
      for (std::int64_t i = 0; i < local.rows; ++i)
        count(std::fabs(scale(scales.rows, i) * column[i]) * scale(scales.columns, j), range,
              counts[static_cast<std::size_t>(j)]);
    });
  });
  return sum_of(all, counts);
}

RangeCounts range_counts(const Communicator& all, Device& device, const DistributedMatrix& lu,
                         const LuPlan& plan) {
  return sum_of(all, agreed(all, [&] {
                  switch (lu.storage()) {
                    case Precision::fp64:
                      return counts_of_stored<double>(device, lu.local());
                    case Precision::fp16:
                      return counts_of_stored<Half>(device, lu.local());
                    case Precision::bf16:
                      return counts_of_stored<Bfloat16>(device, lu.local());
                    default:
                      return plan.precision == Precision::fp32
                                 ? counts_of_stored<float>(device, lu.local())
                                 : counts_of_rounded(device, lu, plan);
                  }
                }));
}

}  // namespace speedwell
