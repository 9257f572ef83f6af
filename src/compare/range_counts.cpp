// SPDX-License-Identifier: BSD-3-Clause
#include "compare/range_counts.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "comm/agreement.hpp"
#include "element/rounding.hpp"

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

/// The counts of magnitude(i, j, a_ij) over a device matrix of elements T, in host memory and by
/// several threads.
template <class T, class Magnitude>
RangeCounts counts(const Communicator& all, Device& device, ConstAnyMatrix a, Precision precision,
                   const Magnitude& magnitude) {
  const Range range = range_of(precision);
  std::array<std::int64_t, 2> sums{};
  agree(all, [&] {
    if (a.empty()) return;
    const auto queue = device.make_queue(Priority::normal);
    const auto column_bytes = a.ld * std::int64_t{sizeof(T)};
    const std::int64_t strip = std::clamp<std::int64_t>(piece_bytes / column_bytes, 1, a.columns);
    std::vector<T> host;
    std::int64_t over = 0;
    std::int64_t under = 0;
    for (std::int64_t first = 0; first < a.columns; first += strip) {
      const std::int64_t columns = std::min(strip, a.columns - first);
      host.resize(static_cast<std::size_t>((columns - 1) * a.ld + a.rows));
      device.download(*queue, reinterpret_cast<const T*>(a.data) + first * a.ld, host);
#pragma omp parallel for schedule(static) reduction(+ : over, under)
      for (std::int64_t c = 0; c < columns; ++c)
        for (std::int64_t i = 0; i < a.rows; ++i) {
          const double v = magnitude(i, first + c, host[static_cast<std::size_t>(c * a.ld + i)]);
          over += v < range.beyond ? 0 : 1;
          under += v != 0 && v < range.smallest ? 1 : 0;
        }
    }
    sums = {over, under};
  });
  all.all_reduce(sums, Reduction::sum);
  return {sums[0], sums[1]};
}

}  // namespace

RangeCounts range_counts(const Communicator& all, Device& device, const ScaledMatrix& a,
                         Precision to) {
  const Scales scales = a.scales().local(a.matrix().rows(), a.matrix().columns());
  const auto scale = [](const Vector& all_scales, std::int64_t i) {
    return all_scales.empty() ? 1.0 : all_scales[static_cast<std::size_t>(i)];
  };
  return counts<double>(
      all, device, a.matrix().local(), to, [&](std::int64_t i, std::int64_t j, double element) {
        return std::fabs(scale(scales.rows, i) * element) * scale(scales.columns, j);
      });
}

RangeCounts range_counts(const Communicator& all, Device& device, const DistributedMatrix& lu) {
  const auto of_16_bits = [](std::int64_t, std::int64_t, auto element) {
    constexpr double least = std::numeric_limits<double>::denorm_min();  // in the place of zero
    return std::max(std::fabs(static_cast<double>(to_float(element))), least);
  };
  const auto wide = [](std::int64_t, std::int64_t, auto element) {
    return std::fabs(static_cast<double>(element));
  };
  switch (lu.storage()) {
    case Precision::fp64:
      return counts<double>(all, device, lu.local(), lu.storage(), wide);
    case Precision::fp16:
      return counts<Half>(all, device, lu.local(), lu.storage(), of_16_bits);
    case Precision::bf16:
      return counts<Bfloat16>(all, device, lu.local(), lu.storage(), of_16_bits);
    default:
      return counts<float>(all, device, lu.local(), lu.storage(), wide);
  }
}

}  // namespace speedwell
