// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The NUMA nodes on which the pages of large memory lie.
#pragma once

#include <cstdint>
#include <string>

namespace speedwell {

/// The NUMA nodes whose cores this process may run on, in a list: "0-1"; empty if they are fewer
/// than two, or unknown.
std::string spanned_memory_nodes();

/// Spreads the pages of memory that nobody has touched yet evenly over spanned_memory_nodes(), as
/// `numactl --interleave` does, since threads on all of them will read all of it. Left alone where
/// there are none, or where the process has a policy of its own.
void spread_pages(void* data, std::int64_t bytes);

}  // namespace speedwell
