// SPDX-License-Identifier: BSD-3-Clause
#include <mpi.h>

#include <string>

#include "comm/communicator.hpp"

namespace speedwell {

const std::string& host_name() {
  static const std::string host = [] {
    char name[MPI_MAX_PROCESSOR_NAME] = "";
    int length = 0;
    check_mpi(MPI_Get_processor_name(name, &length), "MPI_Get_processor_name");
    return std::string(name);
  }();
  return host;
}

}  // namespace speedwell
