// SPDX-License-Identifier: BSD-3-Clause
// The communicator of all ranks of a test.
#pragma once

#include "comm/communicator.hpp"

namespace speedwell::test {

inline Communicator world() {
  return Communicator::duplicate(comm_world());
}

}  // namespace speedwell::test
