// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// How a cuBLAS handle computes FP64 products: by FP64 instructions, or by 8-bit integers, which
/// cuBLAS of CUDA 13.0, update 2, and later can ("Floating Point Emulation" in its documentation).
/// Without a word of the program, variables of the environment decide (CUBLAS_EMULATE_DOUBLE_
/// PRECISION, CUBLAS_EMULATION_STRATEGY and others); so each handle is told. The functions are
/// looked up by name, since the toolkit that compiles and the library that runs may be older than
/// they are.
#pragma once

#include <cublas_v2.h>
#include <speedwell/options.hpp>

#include <string>

namespace speedwell {

/// Why the library that runs cannot emulate; empty if it can.
std::string why_no_emulation();

/// Sets math mode and strategy of a handle; for emulated products also how many bits they keep, and
/// that they treat Inf and NaN as FP64 does.
/// @pre products is native, or why_no_emulation() is empty
void set_fp64_products(cublasHandle_t handle, Fp64Products products);

/// What set_fp64_products() sets, for reports.
std::string fp64_words(Fp64Products products);

}  // namespace speedwell
