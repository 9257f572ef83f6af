// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The fault of one rank that has not enough memory.
#pragma once

#include <speedwell/error.hpp>

namespace speedwell {

/// Memory that this rank could not get. agree() makes an OutOfMemory of it, on all ranks.
class MemoryFault : public Fault {
 public:
  using Fault::Fault;
};

}  // namespace speedwell
