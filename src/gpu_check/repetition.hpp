// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// How a program that failed on a GPU is run once more, so that its calls explain the failure.
#pragma once

#include <string>
#include <vector>

namespace speedwell::gpu_check {

/// The same command with these variables in its environment, each "NAME=value".
std::vector<std::string> with_variables(std::vector<std::string> variables,
                                        const std::vector<std::string>& command);

/// The same command, where the host waits for each kernel (CUDA_LAUNCH_BLOCKING), so that an error
/// shows at its own kernel, and where cuBLASLt of each process logs its calls to a file in
/// `folder`. Makes the folder.
std::vector<std::string> traced(const std::vector<std::string>& command, const std::string& folder);

/// What the processes logged to `folder`, the end of each log alone where it is long; empty if they
/// logged nothing.
std::string logged_calls(const std::string& folder);

}  // namespace speedwell::gpu_check
