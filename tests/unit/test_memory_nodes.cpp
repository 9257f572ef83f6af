// SPDX-License-Identifier: BSD-3-Clause
// On which NUMA nodes large memory lies, by topologies that are made up, and in which pages.
#include <sys/mman.h>

#include <filesystem>
#include <fstream>

#include "catch.hpp"
#include "host/memory_nodes.hpp"
#include "host/topology.hpp"
#include "setup/memory.hpp"

namespace speedwell::test::memory_nodes_tests {
namespace {

struct Node {
  explicit Node(const char* description) {
    REQUIRE(hwloc_topology_init(&topology) == 0);
    REQUIRE(hwloc_topology_set_synthetic(topology, description) == 0);
    REQUIRE(hwloc_topology_load(topology) == 0);
  }
  ~Node() { hwloc_topology_destroy(topology); }
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  std::string spanned(const char* processors) const {
    const BitSet set(hwloc_bitmap_alloc(), hwloc_bitmap_free);
    hwloc_bitmap_list_sscanf(set.get(), processors);
    const BitSet nodes = spanned_nodes(topology, set.get());
    return nodes ? list_of(nodes.get()) : "";
  }

  hwloc_topology_t topology = nullptr;
};

}  // namespace

TEST_CASE("memory is spread over the NUMA nodes of the processors that a process may use",
          "[host][quick]") {
  const Node two("numa:2 core:4 pu:1");
  CHECK(two.spanned("0-7") == "0-1");
  CHECK(two.spanned("3-4") == "0-1");
  CHECK(two.spanned("0-3").empty());
  CHECK(two.spanned("4-7").empty());
  CHECK(two.spanned("").empty());
  const Node four("pack:2 numa:2 core:2 pu:2");
  CHECK(four.spanned("0-15") == "0-3");
  CHECK(four.spanned("4-11") == "1-2");
  CHECK(four.spanned("0,12") == "0,3");
  CHECK(four.spanned("8-11").empty());
  CHECK(Node("core:4 pu:1").spanned("0-3").empty());
  // A second memory beside that of the processors, for each package and for all of them.
  const Node one_with_more("pack:1 [numa] [numa] core:4 pu:1");
  CHECK(hwloc_get_nbobjs_by_type(one_with_more.topology, HWLOC_OBJ_NUMANODE) == 2);
  CHECK(one_with_more.spanned("0-3").empty());
  const Node two_with_more("[numa] pack:2 [numa] [numa] core:4 pu:1");
  CHECK(hwloc_get_nbobjs_by_type(two_with_more.topology, HWLOC_OBJ_NUMANODE) == 5);
  CHECK(two_with_more.spanned("0-7") == "0,2");
  CHECK(two_with_more.spanned("4-7").empty());
}

TEST_CASE("pages that are spread have the policy of this node", "[host][quick]") {
  constexpr std::size_t bytes = std::size_t{8} << 20;
  void* data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(data != MAP_FAILED);
  spread_pages(data, bytes);
  const BitSet nodes(hwloc_bitmap_alloc(), hwloc_bitmap_free);
  hwloc_membind_policy_t policy = HWLOC_MEMBIND_DEFAULT;
  REQUIRE(hwloc_get_area_membind(node_topology(), data, bytes, nodes.get(), &policy,
                                 HWLOC_MEMBIND_BYNODESET) == 0);
  const std::string spanned = spanned_memory_nodes();
  if (spanned.empty()) {
    CHECK(policy != HWLOC_MEMBIND_INTERLEAVE);
  } else {
    CHECK(policy == HWLOC_MEMBIND_INTERLEAVE);
    CHECK(list_of(nodes.get()) == spanned);
  }
  munmap(data, bytes);
}

TEST_CASE("what the system says of large pages", "[setup][quick]") {
  const auto root = std::filesystem::temp_directory_path() / "speedwell-large-pages";
  const auto folder = root / "sys/kernel/mm/transparent_hugepage";
  std::filesystem::create_directories(folder);
  const auto setting = [&](const char* text) {
    std::ofstream(folder / "enabled") << text;
    return large_pages_setting(root);
  };
  CHECK(setting("[always] madvise never\n") == "always");
  CHECK(setting("always [madvise] never\n") == "madvise");
  CHECK(setting("always madvise [never]\n") == "never");
  CHECK(setting("") == "unknown");
  std::filesystem::remove_all(root);
  CHECK(large_pages_setting(root) == "unknown");
}
}  // namespace speedwell::test::memory_nodes_tests
