// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// MPI's requests, which headers of comm/ name without mpi.h.
#pragma once

#include <mpi.h>

#include <vector>

namespace speedwell {

struct Requests {
  int size() const { return static_cast<int>(all.size()); }
  std::vector<MPI_Request> all;
};

}  // namespace speedwell
