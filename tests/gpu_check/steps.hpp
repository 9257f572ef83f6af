// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The steps of a check in order, the most important first, each within its share of the budget.
#pragma once

#include <string>

#include "session.hpp"

namespace lupine::gpu_check {

/// The first GPU, as `lupine info` describes it. Without a GPU the name is empty, and `why` is the
/// reason.
struct Gpu {
  std::string name;
  std::string description;
  std::string uuid;
  std::string why;
};

/// Runs `lupine info`. @throws Fault if that fails
Gpu find_gpu(Session& session);
/// Records other facts about the machine.
void note_facts(Session& session);
/// Runs all steps.
void run_steps(Session& session);

}  // namespace lupine::gpu_check
