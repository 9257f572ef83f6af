// SPDX-License-Identifier: BSD-3-Clause
#include "host/topology.hpp"

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "core/forks.hpp"

namespace speedwell {

namespace {

using Topology = std::unique_ptr<hwloc_topology, decltype(&hwloc_topology_destroy)>;

Topology load_topology() {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return {nullptr, hwloc_topology_destroy};
  Topology topology(raw, hwloc_topology_destroy);
  if (hwloc_topology_load(raw) != 0) topology.reset();
  return topology;
}

}  // namespace

hwloc_topology_t node_topology() {
  static constinit MadeOnce<Topology> topology(load_topology);
  return topology.get().get();
}

BitSet process_binding(hwloc_topology_t topology) {
  BitSet set(hwloc_bitmap_alloc(), hwloc_bitmap_free);
  if (hwloc_get_cpubind(topology, set.get(), HWLOC_CPUBIND_PROCESS) != 0)
    hwloc_bitmap_copy(set.get(), hwloc_topology_get_allowed_cpuset(topology));
  return set;
}

BitSet spanned_nodes(hwloc_topology_t topology, hwloc_const_cpuset_t processors) {
  std::vector<hwloc_obj_t> all;
  hwloc_obj_t next = nullptr;
  while ((next = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, next)) != nullptr)
    all.push_back(next);
  // Memory of a GPU, of high bandwidth, or far away is a node without processors: hwloc gives it
  // those that are near, behind the node to which they belong.
  std::ranges::stable_sort(all, {},
                           [](hwloc_obj_t node) { return hwloc_bitmap_weight(node->cpuset); });
  BitSet nodes(hwloc_bitmap_alloc(), hwloc_bitmap_free);
  const BitSet left(hwloc_bitmap_dup(processors), hwloc_bitmap_free);
  for (const hwloc_obj_t node : all) {
    if (!hwloc_bitmap_intersects(node->cpuset, left.get())) continue;
    hwloc_bitmap_set(nodes.get(), node->os_index);
    hwloc_bitmap_andnot(left.get(), left.get(), node->cpuset);
  }
  if (hwloc_bitmap_weight(nodes.get()) < 2) nodes.reset();
  return nodes;
}

std::string list_of(hwloc_const_bitmap_t set) {
  char* text = nullptr;
  hwloc_bitmap_list_asprintf(&text, set);
  const std::unique_ptr<char, decltype(&std::free)> owner(text, std::free);
  return text ? text : "";
}

}  // namespace speedwell
