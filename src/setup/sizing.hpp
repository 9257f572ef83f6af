// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Which n fits: into memory, and into a time.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "comm/communicator.hpp"
#include "device/device.hpp"

namespace lupine {

/// Memory of the rank that has the least.
struct MemoryBudget {
  double rank_free = 0;    ///< bytes this rank may take
  double shared_free = 0;  ///< bytes free where it takes them, for all ranks that do
  int sharing = 1;         ///< ranks that share it: those of a node, or of a GPU
  std::string host;
  std::string bound;  ///< what bounds it, such as "MemAvailable" or "GPU 0"
  bool on_device = false;
};

/// Memory of the device, or of the host where the device has none of its own. Equal on every rank.
/// Collective.
MemoryBudget tightest_budget(const Communicator& all, const Device& device);
/// Memory of the hosts.
MemoryBudget tightest_host_budget(const Communicator& all);

/// The largest n >= 1 for which `fits`, by bisection; 0 if not even 1 does. Where fits(n + 1),
/// there must be fits(n) too, near the answer at least.
std::int64_t largest_n(const std::function<bool(std::int64_t)>& fits);

/// The largest n with (2/3 n^3 + 3/2 n^2) / rate <= seconds; at least 1.
std::int64_t largest_n_in_time(double seconds, double rate);

/// n rounded down to a multiple of nb, unless nothing would be left.
std::int64_t round_to_blocks(std::int64_t n, std::int64_t nb);

/// 2/3 n^3 + 3/2 n^2, the benchmark's count.
double benchmark_flops(std::int64_t n);

/// "12.34 GiB"; small and huge sizes keep three digits.
std::string gibibytes(double bytes);

}  // namespace lupine
