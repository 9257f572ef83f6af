// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Facts about this processor.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace speedwell {

/// This node's processor, as far as the job may use it.
struct ProcessorInfo {
  std::string model;                          ///< "AMD EPYC 9555", or "unknown processor"
  std::vector<std::string> instruction_sets;  ///< that Speedwell can use and is allowed: avx2, ...
  int cores = 1;                              ///< cores of the node that this job may use
  int bound_cores = 1;                        ///< cores among them that this process may run on
};
ProcessorInfo processor_info();
/// ProcessorInfo::instruction_sets alone, which takes no time.
/// @throws UsageError as allowed_cpu_isa()
std::vector<std::string> instruction_sets();
/// The name of the processor, as hwloc tells it.
const std::string& processor_model();
/// ProcessorInfo::bound_cores alone. What the system says is kept until the calling thread's
/// affinity changes, so this takes less than a microsecond.
int bound_cores();

/// Bytes of all L3 caches of the node together, or of all L2 caches if it has no L3; 0 if unknown.
std::int64_t cache_bytes();
/// Bytes of an L2 cache for each core that shares it; 0 if unknown.
std::int64_t core_cache_bytes();

/// The processors that this process may run on, in a list that ranks of a node can compare:
/// "0-3,7". Empty if unknown.
std::string core_binding();
/// Whether two such lists have a processor in common.
bool bindings_overlap(const std::string& a, const std::string& b);

/// "oneDNN 2.6.3", or "none".
std::string onednn_description();
/// Whether oneDNN multiplies BF16 by instructions of this processor (AVX512_BF16 or AMX), and
/// allowed_cpu_isa() allows it.
bool native_bf16();

}  // namespace speedwell
