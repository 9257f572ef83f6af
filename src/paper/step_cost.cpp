// SPDX-License-Identifier: BSD-3-Clause
#include "paper/step_cost.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <speedwell/error.hpp>

#include "comm/agreement.hpp"
#include "core/counted.hpp"
#include "core/numbers.hpp"
#include "document/report_parts.hpp"
#include "factor/lu.hpp"
#include "matrix/distributed_matrix.hpp"
#include "refine/refinement.hpp"
#include "setup/footprint.hpp"
#include "setup/machine.hpp"
#include "setup/plan.hpp"
#include "solve/attempt.hpp"

#include "revision.hpp"

namespace speedwell::paper {

namespace {

using nlohmann::ordered_json;

/// A and its factors. Nothing is read or computed: their operations take their time.
class PaperSystem {
 public:
  PaperSystem(Machine& machine, const LuPlan& plan)
      : machine_(machine),
        plan_(plan),
        rows_(machine.grid().rows(numbers(), plan.parts() * plan.nb)),
        columns_(machine.grid().columns(numbers(), plan.parts() * plan.nb)),
        a_(machine.device(), rows_, elements_of_columns(), Precision::fp64),
        lu_(machine.device(), machine.grid().rows(plan.n, plan.nb), elements_of_columns(),
            plan.storage(), plan.field) {
    self().order = plan.n;
  }

  /// Seconds of rounding A to the storage precision and factoring it.
  double factor() {
    return timed([&] {
      const auto queue = machine_.device().make_queue(Priority::normal);
      machine_.device().scale(*queue, a_.local(), nullptr, nullptr, lu_.local().real());
      queue->synchronize();
      factors_ = factorize(machine_.transport(), lu_, plan_, {});
    });
  }

  /// Seconds of a correction of so many right-hand sides, in blocks as a Solver has them.
  double correct(std::int64_t right_hand_sides) {
    const std::int64_t most = machine_.all().all_reduce(
        most_refined(rows_.local_size(), columns_.local_size()), Reduction::min);
    const std::int64_t blocks = ceil_div(right_hand_sides, most);
    System system(machine_.grid(), machine_.device(), held_matrix(a_.local(), plan_.field), rows_,
                  columns_);
    LuSolver solver(machine_.transport(), lu_, plan_.width, factors_.pivots);
    const MultiVector b(rows_.local_size(), ceil_div(right_hand_sides, blocks));
    return static_cast<double>(blocks) * timed([&] {
             refine(system, solver, b,
                    {.width = plan_.width, .stop = StopRule::componentwise, .corrections = 1});
           });
  }

 private:
  std::int64_t numbers() const { return plan_.parts() * plan_.n; }
  Distribution elements_of_columns() const { return machine_.grid().columns(plan_.n, plan_.nb); }

  // Of the slowest rank.
  template <class Work>
  double timed(const Work& work) const {
    machine_.all().barrier();
    const double begin = machine_.run().now();
    work();
    return machine_.all().all_reduce(machine_.run().now() - begin, Reduction::max);
  }

  Machine& machine_;
  const LuPlan& plan_;
  Distribution rows_, columns_;  // of the real system
  DistributedMatrix a_, lu_;
  FactorOutcome factors_;
};

StepCost cost_of(Machine& machine, const SystemSizes& sizes, const RunOptions& run,
                 Precision precision) {
  StepCost step{.precision = precision};
  try {
    step.lu = plan(machine, {.run = run,
                             .n = sizes.n,
                             .precision = precision,
                             .field = sizes.field,
                             .pivoting = Pivoting::partial,
                             .kept = machine.all().size() > 1 ? Kept::copy : Kept::in_place})
                  .lu;
  } catch (const UsageError& error) {
    step.refusal = error.what();
    return step;
  }
  step.memory = rank_bytes(step.lu);
  PaperSystem system(machine, step.lu);
  step.lu_seconds = system.factor();
  step.correction_seconds = system.correct(sizes.right_hand_sides);
  return step;
}

std::string row_text(const StepCost& step, int corrections) {
  const std::string text = fmt::format("{:<9}", name(step.precision));
  if (!step.refusal.empty()) return fmt::format("{} refused: {}\n", text, step.refusal);
  return fmt::format("{} {:>6} {:>11.4g} {:>13.4g} {:>13.4g} {:>11.4g} {:>10.3g}\n", text,
                     step.lu.nb, step.lu_seconds, step.lu_gflops(), step.correction_seconds,
                     step.seconds(corrections), step.memory / (1 << 30));
}

ordered_json row_json(const StepCost& step, int corrections) {
  ordered_json all = {{"precision", name(step.precision)}, {"refusal", text_or_null(step.refusal)}};
  if (!step.refusal.empty()) return all;
  all.update({{"nb", step.lu.nb},
              {"lookahead", step.lu.lookahead},
              {"chunk", step.lu.chunk},
              {"panel_width", step.lu.width},
              {"memory_bytes", step.memory},
              {"lu_seconds", step.lu_seconds},
              {"lu_gflops", step.lu_gflops()},
              {"correction_seconds", step.correction_seconds},
              {"time_seconds", step.seconds(corrections)}});
  return all;
}

}  // namespace

double StepCost::lu_gflops() const {
  const auto parts = static_cast<double>(lu.parts());
  return parts * parts * benchmark_flops(lu.n) / lu_seconds / 1e9;
}

std::vector<Precision> precisions_of(const Scenario& scenario) {
  const DeviceModel& device = scenario.machine.device;
  std::vector<Precision> all;
  for (const Precision precision :
       {Precision::bf16, Precision::fp16, Precision::fp16x3, Precision::fp32, Precision::fp64})
    if (precision == Precision::fp32 || product_row(device, precision) != Precision::fp32)
      all.push_back(precision);
  return all;
}

std::vector<StepCost> step_costs(const SystemSizes& sizes, const RunOptions& run,
                                 const std::vector<Precision>& precisions) {
  Machine machine(comm_world(), run);
  std::vector<StepCost> steps;
  steps.reserve(precisions.size());
  for (const Precision precision : precisions)
    steps.push_back(cost_of(machine, sizes, run, precision));
  if (std::ranges::none_of(steps, &std::string::empty, &StepCost::refusal))
    throw UsageError(steps.back().refusal);
  return steps;
}

std::string step_text(const Scenario& scenario, const SystemSizes& sizes,
                      const std::vector<StepCost>& steps) {
  const auto done = std::ranges::find_if(steps, &std::string::empty, &StepCost::refusal);
  std::string text =
      banner("solve") + paper_line(paper_of(scenario)) +
      line("MACHINE", scenario.machine.description) +
      line("RANKS", fmt::format("{}, each on {}", scenario.ranks, scenario.machine.device.name));
  text += line("SYSTEM", fmt::format("N {}, {}, {}", sizes.n,
                                     sizes.field == Field::complex ? "complex" : "real",
                                     counted(sizes.right_hand_sides, "right-hand side")));
  text += line("GRID", fmt::format("{} x {}", done->lu.grid.nprow, done->lu.grid.npcol));
  text +=
      fmt::format("\nPREDICTED; x s: LU and {}\n{:<9} {:>6} {:>11} {:>13} {:>13} {:>11} {:>10}\n",
                  counted(scenario.corrections, "correction"), "precision", "NB", "LU s",
                  "LU GFLOP/s", "correction s", "x s", "GiB a rank");
  for (const StepCost& step : steps) text += row_text(step, scenario.corrections);
  return text + "\n";
}

ordered_json step_json(const Scenario& scenario, const SystemSizes& sizes,
                       const std::vector<StepCost>& steps) {
  ordered_json document = {{"schema", "speedwell/1"},
                           {"benchmark", "solve"},
                           {"version", SPEEDWELL_VERSION},
                           {"revision", SPEEDWELL_REVISION},
                           {"predicted",
                            {{"machine", scenario.machine.name},
                             {"validation", text_or_null(scenario.machine.validation)},
                             {"corrections", scenario.corrections},
                             {"device", scenario.machine.device.name}}},
                           {"n", sizes.n},
                           {"complex", sizes.field == Field::complex},
                           {"right_hand_sides", sizes.right_hand_sides},
                           {"ranks", scenario.ranks},
                           {"steps", ordered_json::array()}};
  for (const StepCost& step : steps)
    document["steps"].push_back(row_json(step, scenario.corrections));
  return document;
}

}  // namespace speedwell::paper
