// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The largest n that fits in the free memory, and the largest that fits in a given time.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "comm/communicator.hpp"
#include "device/device.hpp"

namespace speedwell {

/// The memory of the rank that may allocate the least.
struct MemoryBudget {
  double rank_free = 0;    ///< bytes that this rank may allocate
  double shared_free = 0;  ///< bytes free on its node or GPU, for all ranks there together
  int sharing = 1;         ///< ranks that share this node or GPU
  std::string host;
  std::string bound;  ///< origin of the limit, such as "MemAvailable" or "GPU 0"
  bool on_device = false;
};

/// Memory of the ranks' devices, or of their hosts if any rank's device computes in host memory.
/// Equal on every rank. Collective.
MemoryBudget tightest_budget(const Communicator& all, const Device& device);
/// Memory of the ranks' hosts, whatever their devices. Equal on every rank. Collective.
MemoryBudget tightest_host_budget(const Communicator& all);

/// The largest n >= 1 for which fits(n) is true, by bisection; 0 if fits(1) is false. `fits` must
/// be monotone near the answer: fits(n) is true wherever fits(n + 1) is.
std::int64_t largest_n(const std::function<bool(std::int64_t)>& fits);

/// The largest n with benchmark_flops(n) / rate <= seconds; at least 1.
/// @param rate flop/s
std::int64_t largest_n_in_time(double seconds, double rate);

/// n rounded down to a multiple of nb; n itself if it is less than nb.
std::int64_t round_to_blocks(std::int64_t n, std::int64_t nb);

/// 2/3 n^3 + (2 rhs - 1/2) n^2: the operations of LU and of solves with `rhs` right-hand sides.
/// With one it is the number by which HPL and HPL-MxP compute their score (docs/numerics.md).
double benchmark_flops(std::int64_t n, std::int64_t rhs = 1);

/// A size in words: "12.34 GiB", or with three significant digits below 0.1 and from 1e6 GiB on.
std::string gibibytes(double bytes);

}  // namespace speedwell
