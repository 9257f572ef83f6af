// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Measures what a diagonal block and an update lose when they run side by side.
#pragma once

#include <span>

#include "meter.hpp"

namespace speedwell {

/// The operands of C <- C + L U, with the scales in control(0) and control(1) of the meter.
struct UpdateOperands {
  ConstAnyMatrix l, u;
  AnyMatrix c;
};

/// Factors a diagonal block of order `order` alone, runs the update alone, and runs both at once,
/// on two queues of the device as a factorization does. One line for each number in `reserved`, of
/// the multiprocessors that Device::share() gives to the block; 0: both may use all.
void measure_side_by_side(Meter& meter, const UpdateOperands& update, std::int64_t order,
                          std::span<const int> reserved, int multiprocessors);

}  // namespace speedwell
