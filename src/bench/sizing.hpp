/// @file
/// Which n fits: into memory, and into a time.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "comm/communicator.hpp"

namespace lupine {

/// Memory of the rank that has the least.
struct MemoryBudget {
  double rank_free = 0;  ///< bytes this rank may take
  double node_free = 0;  ///< bytes its node has free, for all ranks there
  int ranks_on_node = 1;
  std::string host;
  std::string bound;  ///< what bounds it, such as "MemAvailable"
};

/// Equal on every rank. Collective.
MemoryBudget tightest_budget(const Communicator& all);

/// The largest n >= 1 for which `fits`, by bisection; 0 if not even 1 does.
/// @pre fits(n + 1) implies fits(n), near the answer at least
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
