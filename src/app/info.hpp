/// @file
/// `lupine info`.
#pragma once

#include <string>

namespace lupine {

/// @param corrected_kernels those that OpenBLAS would have picked by itself, or empty
/// @param size ranks of the job
std::string info_text(const std::string& corrected_kernels, int size);

}  // namespace lupine
