// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <map>
#include <string>

#include "paper/world.hpp"

namespace speedwell::paper {

namespace {

// How many numbers of the machine's file are from where: "1 measured, 37 assumed".
std::string origins_text(const MachineModel& machine) {
  std::map<Origin, int> counts;
  for (const auto& [path, figure] : machine.figures) ++counts[figure.origin];
  std::string text;
  for (const auto& [origin, count] : counts)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, name(origin));
  return text;
}

}  // namespace

Paper paper_of(const Scenario& scenario) {
  const MachineModel& machine = scenario.machine;
  Paper paper{machine.name,
              machine.validation.empty() ? "not validated on a GPU" : machine.validation,
              scenario.corrections, origins_text(machine)};
  for (const Precision p :
       {Precision::fp16, Precision::bf16, Precision::fp16x3, Precision::fp32, Precision::fp64})
    if (const auto found = machine.device.operations.find(
            {OperationKind::product, product_row(machine.device, p)});
        found != machine.device.operations.end())
      paper.rates[p] = name(found->second.origin);
  return paper;
}

}  // namespace speedwell::paper
