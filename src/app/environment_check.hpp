// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// What all ranks of a run should have alike in their environment.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "comm/communicator.hpp"

namespace speedwell {

/// What a rank has: variables that BLAS, OpenMP and CUDA's libraries read, versions, and cores.
struct RankEnvironment {
  std::string host;
  std::map<std::string, std::string> values;  ///< by name; a variable that is not set is not there
};

/// This rank's. @param variables as environ has them: "NAME=value", with a null behind the last
RankEnvironment environment_here(std::string host, const char* const* variables);

/// A line for each name whose value is not that of rank 0 everywhere: the first rank that differs,
/// both values, and how many more differ. CUDA_VISIBLE_DEVICES may differ within a node.
std::vector<std::string> differences(const std::vector<RankEnvironment>& ranks);

/// The differences between all ranks, on rank 0; none on other ranks. Collective.
std::vector<std::string> environment_differences(const Communicator& world,
                                                 const RankEnvironment& mine);

}  // namespace speedwell
