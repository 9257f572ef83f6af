// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// What a check runs, in order: most important first, each step within its share of the budget.
#pragma once

#include <string>

#include "session.hpp"

namespace lupine::gpu_check {

/// What `lupine info` says of the first GPU; empty name: `why` says that there is none.
struct Gpu {
  std::string name;
  std::string description;
  std::string uuid;
  std::string why;
};

/// Runs `lupine info`. @throws Fault if that fails
Gpu find_gpu(Session& session);
/// What else is known of the machine.
void note_facts(Session& session);
/// All the others, and the conclusions after each.
void run_steps(Session& session);

}  // namespace lupine::gpu_check
