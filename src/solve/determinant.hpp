// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The determinant of a matrix by its factors.
#pragma once

#include <lupine/solve.hpp>

#include <cstdint>
#include <span>

#include "comm/communicator.hpp"
#include "device/device.hpp"
#include "matrix/distributed_matrix.hpp"
#include "solve/equilibration.hpp"

namespace lupine {

/// det(A) = det(P) prod_i u_ii / (det(R) det(C)) for P (R A C) = L U: the sum of the logarithms of
/// |u_ii|, and the product of their signs. Collective, and equal on every rank.
/// @param lu the factors, in FP64
/// @param exchanges of rows: each changes the sign
/// @param scales the exponents of R and C
/// @pre lu is stored in FP64
Determinant determinant_of(const Communicator& all, Device& device, const DistributedMatrix& lu,
                           std::int64_t exchanges, const Equilibration& scales);

}  // namespace lupine
