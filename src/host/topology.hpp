// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// This node's cores, caches and memory as hwloc describes them, for the sources of this folder.
#pragma once

#include <hwloc.h>

#include <memory>
#include <string>

namespace speedwell {

using BitSet = std::unique_ptr<hwloc_bitmap_s, decltype(&hwloc_bitmap_free)>;

/// The node's topology, which is loaded once: that takes milliseconds. Null if it is unknown.
hwloc_topology_t node_topology();
/// The processors that this process may run on.
BitSet process_binding(hwloc_topology_t topology);
/// The NUMA nodes to which these processors belong; null if they are fewer than two.
BitSet spanned_nodes(hwloc_topology_t topology, hwloc_const_cpuset_t processors);
/// "0-3,7"; empty for an empty set.
std::string list_of(hwloc_const_bitmap_t set);

}  // namespace speedwell
