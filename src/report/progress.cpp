// SPDX-License-Identifier: BSD-3-Clause
#include "report/progress.hpp"

#include <fmt/format.h>

namespace speedwell {

std::optional<std::string> ProgressLines::line(const Progress& p) {
  if (p.seconds < last_seconds_) *this = {};  // another factorization has begun
  const double elapsed = p.seconds - last_seconds_;
  if (elapsed < 1) return std::nullopt;
  const auto order = static_cast<double>(p.n);
  const double left = static_cast<double>(p.n - p.columns_done) / order;
  const double done = 1 - left * left * left;
  const double flops = done * 2 / 3 * order * order * order;
  const double current = (flops - last_flops_) / elapsed;
  const double average = flops / p.seconds;
  last_seconds_ = p.seconds;
  last_flops_ = flops;
  const double seconds_left = done > 0 ? p.seconds * (1 - done) / done : 0;
  return fmt::format(
      "{:5.1f} % done, {} columns left, {:.0f} s, {:.0f} s left, now {:.1f} GFLOP/s, average "
      "{:.1f} "
      "GFLOP/s",
      100 * done, p.n - p.columns_done, p.seconds, seconds_left, current / 1e9, average / 1e9);
}

}  // namespace speedwell
