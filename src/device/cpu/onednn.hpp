// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Products by oneDNN, for the processors that multiply BF16 by themselves.
#pragma once

#include "core/matrix_view.hpp"
#include "core/scalar.hpp"

namespace lupine {

/// False in a build without oneDNN.
bool onednn_built();

/// C <- C + A B with FP32 accumulation; A and B both BF16, or both FP32. May be called from several
/// threads; inside a parallel region it runs on the calling thread.
/// @throws Fault where oneDNN has no such product on this processor.
void onednn_multiply_add(ConstAnyMatrix a, ConstAnyMatrix b, MatrixView<float> c);

}  // namespace lupine
