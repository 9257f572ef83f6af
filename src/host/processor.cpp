// SPDX-License-Identifier: BSD-3-Clause
#include "host/processor.hpp"

#include <cblas.h>
#include <fmt/format.h>
#include <hwloc.h>
#include <sched.h>
#ifdef __aarch64__
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

#include <algorithm>
#include <array>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <sstream>

#include "core/forks.hpp"
#include "cpu/isa.hpp"
#include "host/topology.hpp"

#ifdef SPEEDWELL_WITH_ONEDNN
#include <oneapi/dnnl/dnnl.hpp>
#endif

namespace speedwell {

namespace {

int cores_inside(hwloc_topology_t topology, hwloc_const_cpuset_t set) {
  int cores = 0;
  const int all = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE);
  for (int i = 0; i < all; ++i) {
    const hwloc_obj_t core =
        hwloc_get_obj_by_type(topology, HWLOC_OBJ_CORE, static_cast<unsigned>(i));
    if (hwloc_bitmap_intersects(core->cpuset, set)) ++cores;
  }
  return std::max(1, cores);
}

/// Where this process may run.
struct Binding {
  std::string processors;  ///< "0-3,7"; empty if unknown
  int cores = 1;
};

Binding find_binding(hwloc_topology_t topology) {
  const BitSet set = process_binding(topology);
  return {list_of(set.get()), cores_inside(topology, set.get())};
}

/// find_binding(), which asks the system about every thread of the process. What it found is kept
/// for the calling thread until that thread's affinity changes.
const Binding& the_binding(hwloc_topology_t topology) {
  thread_local cpu_set_t known_for;
  thread_local bool known = false;
  thread_local Binding found;
  cpu_set_t now;
  CPU_ZERO(&now);
  const bool can_tell = sched_getaffinity(0, sizeof now, &now) == 0;
  if (known && can_tell && CPU_EQUAL(&now, &known_for)) return found;
  found = find_binding(topology);
  known = can_tell;  // a node with more processors than fit into the set is asked every time
  known_for = now;
  return found;
}

}  // namespace

std::vector<std::string> instruction_sets() {
  std::vector<std::string> sets;
#if defined(__x86_64__)
#define SPEEDWELL_HAS(set, needed) \
  if (__builtin_cpu_supports(set) && allowed_cpu_isa() >= (needed)) sets.emplace_back(set)
  SPEEDWELL_HAS("sse4.2", CpuIsa::portable);
  SPEEDWELL_HAS("avx", CpuIsa::avx2);
  SPEEDWELL_HAS("avx2", CpuIsa::avx2);
  SPEEDWELL_HAS("fma", CpuIsa::avx2);
  if (has_f16c() && allowed_cpu_isa() >= CpuIsa::avx2) sets.emplace_back("f16c");
  SPEEDWELL_HAS("avx512f", CpuIsa::avx512);
  SPEEDWELL_HAS("avx512bw", CpuIsa::avx512);
  SPEEDWELL_HAS("avx512dq", CpuIsa::avx512);
  SPEEDWELL_HAS("avx512vl", CpuIsa::avx512);
  SPEEDWELL_HAS("avx512bf16", CpuIsa::avx512_bf16);
#undef SPEEDWELL_HAS
#elif defined(__aarch64__)
  const unsigned long first = getauxval(AT_HWCAP);
  const unsigned long second = getauxval(AT_HWCAP2);
  const auto add = [&](const char* name, bool is_here, CpuIsa least) {
    if (is_here && allowed_cpu_isa() >= least) sets.emplace_back(name);
  };
  add("neon", (first & HWCAP_ASIMD) != 0, CpuIsa::neon);
  add("sve", (first & HWCAP_SVE) != 0, CpuIsa::sve256);
  add("sve2", (second & HWCAP2_SVE2) != 0, CpuIsa::sve256);
  add("bf16", (second & HWCAP2_BF16) != 0, CpuIsa::neon);
#endif
  return sets;
}

const std::string& processor_model() {
  static constinit MadeOnce<std::string> model([] {
    const hwloc_topology_t topology = node_topology();
    const hwloc_obj_t package =
        topology ? hwloc_get_obj_by_type(topology, HWLOC_OBJ_PACKAGE, 0) : nullptr;
    const auto info = [&](const char* key) {
      const char* text = package ? hwloc_obj_get_info_by_name(package, key) : nullptr;
      return std::string(text ? text : "");
    };
    if (std::string name = info("CPUModel"); !name.empty()) return name;
    // Of Arm's processors the system knows numbers alone.
    const std::string part = info("CPUPart");
    return part.empty() ? "unknown processor"
                        : fmt::format("Arm processor {}/{}", info("CPUImplementer"), part);
  });
  return model.get();
}

ProcessorInfo processor_info() {
  ProcessorInfo info;
  info.instruction_sets = instruction_sets();
  info.model = processor_model();
  const hwloc_topology_t topology = node_topology();
  if (!topology) return info;
  info.cores = cores_inside(topology, hwloc_topology_get_allowed_cpuset(topology));
  info.bound_cores = the_binding(topology).cores;
  return info;
}

std::int64_t cache_bytes() {
  const hwloc_topology_t topology = node_topology();
  if (!topology) return 0;
  for (const hwloc_obj_type_t level : {HWLOC_OBJ_L3CACHE, HWLOC_OBJ_L2CACHE}) {
    std::int64_t bytes = 0;
    for (hwloc_obj_t cache = nullptr;
         (cache = hwloc_get_next_obj_by_type(topology, level, cache)) != nullptr;)
      bytes += static_cast<std::int64_t>(cache->attr->cache.size);
    if (bytes > 0) return bytes;
  }
  return 0;
}

std::int64_t core_cache_bytes() {
  const hwloc_topology_t topology = node_topology();
  const hwloc_obj_t cache =
      topology ? hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_L2CACHE, nullptr) : nullptr;
  if (cache == nullptr) return 0;
  const int cores = hwloc_get_nbobjs_inside_cpuset_by_type(topology, cache->cpuset, HWLOC_OBJ_CORE);
  return static_cast<std::int64_t>(cache->attr->cache.size) / std::max(cores, 1);
}

int bound_cores() {
  const hwloc_topology_t topology = node_topology();
  return topology ? the_binding(topology).cores : 1;
}

std::string core_binding() {
  const hwloc_topology_t topology = node_topology();
  return topology ? the_binding(topology).processors : "";
}

bool bindings_overlap(const std::string& a, const std::string& b) {
  const BitSet first(hwloc_bitmap_alloc(), hwloc_bitmap_free);
  const BitSet second(hwloc_bitmap_alloc(), hwloc_bitmap_free);
  hwloc_bitmap_list_sscanf(first.get(), a.c_str());
  hwloc_bitmap_list_sscanf(second.get(), b.c_str());
  return hwloc_bitmap_intersects(first.get(), second.get()) != 0;
}

std::string onednn_description() {
#ifdef SPEEDWELL_WITH_ONEDNN
  const dnnl::version_t* v = dnnl::version();
  return fmt::format("oneDNN {}.{}.{}", v->major, v->minor, v->patch);
#else
  return "none";
#endif
}

bool native_bf16() {
#if defined(SPEEDWELL_WITH_ONEDNN) && defined(__x86_64__)
  static constinit MadeOnce<bool> has_it([] {
    const auto wanted = static_cast<unsigned>(dnnl::cpu_isa::avx512_core_bf16);
    return (static_cast<unsigned>(dnnl::get_effective_cpu_isa()) & wanted) == wanted;
  });
  return allowed_cpu_isa() >= CpuIsa::avx512_bf16 && has_it.get();
#else
  return false;
#endif
}

}  // namespace speedwell
