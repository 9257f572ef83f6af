// SPDX-License-Identifier: BSD-3-Clause
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <string>

#include "comm/communicator.hpp"

namespace speedwell {

const std::string& host_name() {
  static const std::string host = [] {
    char name[std::max(MPI_MAX_PROCESSOR_NAME, HOST_NAME_MAX + 1)] = "";
    int started = 0;
    check_mpi(MPI_Initialized(&started), "MPI_Initialized");
    int length = 0;
    if (started != 0)
      check_mpi(MPI_Get_processor_name(name, &length), "MPI_Get_processor_name");
    else
      ::gethostname(name, sizeof name - 1);
    return std::string(name);
  }();
  return host;
}

}  // namespace speedwell
