// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The memory in which cuBLAS emulates an FP64 product by 8-bit integers.
#pragma once

#include <cstdint>

#include "grid/lu_plan.hpp"

namespace speedwell {

/// The columns of C in one FP64 product of a GPU's update, at most.
constexpr std::int64_t fp64_update_columns = 4096;

/// The most bits of a number, beside its sign, that an emulated product keeps: what cuBLAS takes by
/// itself where it finds the number of bits by the values, as many as an error of FP64 needs.
constexpr int emulated_bits = 79;

/// Bytes of workspace for C <- C + A B in emulated FP64, where C is rows x columns: an upper bound,
/// which NVIDIA's documentation of cuBLAS gives ("Fixed-Point Workspace Requirements"). A and B are
/// copied in slices of 8 bits, and each slice of C is summed in 32 bits.
/// @param inner columns of A
double emulation_workspace(double rows, double columns, double inner);

/// The workspace that updates of a plan need; 0 where they are native. By nb, not by the width of a
/// step: narrower panels would save little of it.
double emulation_bytes(const LuPlan& plan);

}  // namespace speedwell
