// SPDX-License-Identifier: BSD-3-Clause
#include "host/memory_nodes.hpp"

#include "host/topology.hpp"

namespace speedwell {

namespace {

// The nodes to spread over; null for none.
BitSet nodes_to_spread_over() {
  const hwloc_topology_t topology = node_topology();
  if (!topology || hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_NUMANODE) < 2)
    return {nullptr, hwloc_bitmap_free};
  return spanned_nodes(topology, process_binding(topology).get());
}

}  // namespace

std::string spanned_memory_nodes() {
  const BitSet nodes = nodes_to_spread_over();
  return nodes ? list_of(nodes.get()) : "";
}

void spread_pages(void* data, std::int64_t bytes) {
  const BitSet nodes = nodes_to_spread_over();
  if (!nodes) return;
  const BitSet now(hwloc_bitmap_alloc(), hwloc_bitmap_free);
  hwloc_membind_policy_t policy = HWLOC_MEMBIND_DEFAULT;
  const int flags = HWLOC_MEMBIND_THREAD | HWLOC_MEMBIND_BYNODESET;
  if (hwloc_get_membind(node_topology(), now.get(), &policy, flags) != 0 ||
      policy != HWLOC_MEMBIND_FIRSTTOUCH)
    return;
  // Where the system refuses, pages lie where threads first touch them.
  hwloc_set_area_membind(node_topology(), data, static_cast<std::size_t>(bytes), nodes.get(),
                         HWLOC_MEMBIND_INTERLEAVE, HWLOC_MEMBIND_BYNODESET);
}

}  // namespace speedwell
