// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The steps of a check in order, correctness before speed, each within its share of the budget.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "session.hpp"

namespace speedwell::gpu_check {

/// The first GPU, as `speedwell info` describes it. Without a GPU the name is empty, and `why` is
/// the reason.
struct Gpu {
  std::string name;
  std::string description;
  std::string uuid;
  std::string why;
};

/// Runs `speedwell info`. @throws Fault if that fails
Gpu find_gpu(Session& session);
/// Records other facts about the machine.
void note_facts(Session& session);
/// The names of all steps in their order, as Options::only has them.
std::vector<std::string_view> step_names();
/// Runs the steps of Options::only, or all. What others leave out of the budget they share.
void run_steps(Session& session);

}  // namespace speedwell::gpu_check
