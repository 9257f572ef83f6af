// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Products by oneDNN, for processors with BF16 instructions.
#pragma once

#include <speedwell/error.hpp>

#include "core/matrix_view.hpp"
#include "core/scalar.hpp"

namespace speedwell {

/// Whether Speedwell was built with oneDNN, and oneDNN finds this processor: one that was built for
/// SYCL may find none.
bool onednn_works();

/// C <- C + A B, summed in FP32. A and B are both BF16, or both FP32. May be called from several
/// threads; inside a parallel region it runs on the calling thread.
/// @throws Fault without oneDNN, if oneDNN has no such product on this processor, or without memory
void onednn_multiply_add(ConstAnyMatrix a, ConstAnyMatrix b, MatrixView<float> c);

/// What a failed call of oneDNN is told as. @param why by oneDNN
Fault onednn_fault(bool no_memory, const char* why);

}  // namespace speedwell
