// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The kernels of the linked OpenBLAS. Debian's OpenBLAS takes Haswell's kernels, at half the rate,
/// on AVX-512 processors that are newer than itself.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace speedwell {

/// The family of OpenBLAS's kernels that is faster than `kernels` on a processor with these
/// instruction sets; nothing if `kernels` are good.
std::optional<std::string> better_kernels(std::string_view kernels,
                                          const std::vector<std::string>& instruction_sets);

/// Whether all other threads of this process sleep at this moment.
bool other_threads_sleep();

/// Gives the linked OpenBLAS the kernels that suit this processor, once a process, before the first
/// call of BLAS. What the user asks for by OPENBLAS_CORETYPE stays; so do the kernels where another
/// thread runs for a tenth of a second, since it may be inside OpenBLAS.
/// @return what was done, or why nothing could be; empty where OpenBLAS's own choice is good, or
///         another BLAS is called (host/blas_library.hpp)
const std::string& settle_blas_kernels();

}  // namespace speedwell
