// SPDX-License-Identifier: BSD-3-Clause
// The communicator of all ranks of a test.
#pragma once

#include <mpi.h>

#include "comm/communicator.hpp"

namespace speedwell::test {

inline Communicator world() {
  return Communicator::duplicate(MPI_COMM_WORLD);
}

}  // namespace speedwell::test
