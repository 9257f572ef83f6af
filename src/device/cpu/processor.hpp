// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// What this processor is, and whether the BLAS knows it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lupine {

struct ProcessorInfo {
  std::string model;                          ///< "AMD EPYC 9555", or "unknown"
  std::vector<std::string> instruction_sets;  ///< of those that matter and are allowed: avx2, ...
  int cores = 1;                              ///< of the node, as far as this job may use them
  int bound_cores = 1;                        ///< of those, the ones this process may run on
};
ProcessorInfo processor_info();

/// Bytes of all caches of the node's last level; 0 where they are not known.
std::int64_t cache_bytes();

/// The cores that this process may run on, as a list that ranks of a node can compare ("0-3,7").
std::string core_binding();
/// Whether two such lists have a core in common.
bool bindings_overlap(const std::string& a, const std::string& b);

/// "OpenBLAS 0.3.21, Zen kernels, OpenMP threads".
std::string blas_description();
/// "oneDNN 2.6.3", or "none".
std::string onednn_description();
/// Whether oneDNN multiplies BF16 with instructions of its own here (AVX512_BF16 or AMX), and may.
bool native_bf16();

/// The value of OPENBLAS_CORETYPE that suits a processor with these instruction sets better than
/// `kernels`, the ones that OpenBLAS picked; nothing if they are fine. Debian's OpenBLAS takes
/// Haswell's kernels, at half the rate, on AVX-512 processors that are newer than itself.
std::optional<std::string> better_kernels(std::string_view kernels,
                                          const std::vector<std::string>& instruction_sets);
/// better_kernels() of this processor and of the kernels that OpenBLAS picked in this process.
std::optional<std::string> better_blas_kernels();

}  // namespace lupine
