// SPDX-License-Identifier: BSD-3-Clause
#include "app/check_command.hpp"

#include <ctime>
#include <nlohmann/json.hpp>
#include <optional>

#include "app/files.hpp"
#include "app/output.hpp"
#include "check/baseline.hpp"
#include "check/node_check.hpp"
#include "comm/agreement.hpp"
#include "host/processor.hpp"
#include "report/check_report.hpp"

namespace speedwell {

// The baseline, the comparisons and the report are rank 0's; all ranks end with its status.
int run_check(const Communicator& world, const Arguments& arguments,
              const std::string& command_line, std::vector<std::string> notes) {
  const CheckArguments& own = arguments.check;
  require_equal_options(world, arguments.common);
  std::optional<Baseline> baseline;
  on_rank_0(world, [&] {
    check_files(arguments, {});
    if (!own.baseline.empty()) baseline.emplace(own.baseline);
  });
  const std::time_t begin = std::time(nullptr);
  CheckSummary summary{.check = check_nodes(world.handle(), arguments.options.run, own.seconds,
                                            [&](const MachineFacts& machine) {
                                              on_rank_0(world, [&] {
                                                if (baseline)
                                                  baseline->require_same(machine.device,
                                                                         processor_model());
                                              });
                                            }),
                       .limits = {.part = own.tolerance / 100},
                       .findings = {},
                       .baseline = own.baseline};
  const NodeCheck& check = summary.check;
  summary.findings = findings_of(check, summary.limits);
  notes.insert(notes.end(), check.machine.notes.begin(), check.machine.notes.end());
  std::int64_t status = 0;
  on_rank_0(world, [&] {
    if (baseline) {
      const std::vector<Finding> worse = baseline->compare(check, summary.limits);
      summary.findings.insert(summary.findings.end(), worse.begin(), worse.end());
      notes.push_back(baseline->text(check));
    }
    if (!arguments.json.empty())
      try_json(arguments.json, [&] { return json_of_check(summary, begin, command_line, notes); });
    print(check_report(summary, notes));
    status = summary.findings.empty() ? 0 : 1;
  });
  return static_cast<int>(world.all_reduce(status, Reduction::max));
}

}  // namespace speedwell
