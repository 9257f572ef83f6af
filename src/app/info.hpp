// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// `lupine info`.
#pragma once

#include <string>

namespace lupine {

/// @param uncorrected what BLAS would be had its kernels not been corrected, or empty
/// @param size ranks of the job
std::string info_text(const std::string& uncorrected, int size);

}  // namespace lupine
