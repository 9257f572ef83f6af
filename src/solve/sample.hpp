// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// A cheap forecast of a matrix's condition number, from some of its rows and columns.
#pragma once

#include <cstdint>

#include "comm/process_grid.hpp"
#include "device/device.hpp"
#include "solve/equilibration.hpp"
#include "solve/user_matrix.hpp"

namespace speedwell {

/// Order of the sample of a matrix of order n: at most n / 8 and 1024, so that its LU takes less
/// than a hundredth of that of A; 0 where n is too small for a sample.
std::int64_t sample_order(std::int64_t n);

/// A forecast of the condition number of R A C in the infinity norm: that of the matrix S of one
/// row and column of every s, drawn at random, times s = n / (order of S). It is no bound, and
/// nothing is believed because of it. NaN where S is singular, where n is too small, or without
/// LAPACK: then S tells nothing. Collective, equal on every rank. @param seed of the draw
double sampled_condition(const ProcessGrid& grid, Device& device, const UserMatrix& a,
                         const Equilibration& scales, std::uint64_t seed);

}  // namespace speedwell
