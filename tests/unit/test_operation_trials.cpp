// SPDX-License-Identifier: BSD-3-Clause
// The operations that a calibration times.
#include <map>
#include <set>
#include <utility>

#include "calibrate/operation_trials.hpp"
#include "catch.hpp"
#include "device/cpu/cpu_device.hpp"

namespace speedwell::test::operation_trials_tests {
TEST_CASE("operations can be repeated often: their numbers stay finite", "[calibrate]") {
  CpuDevice device(2);
  constexpr std::int64_t order = 128;
  const OperationTrials trials(device, order);
  for (int round = 0; round < 3; ++round)
    for (const OperationTrial& trial : trials.all()) {
      CAPTURE(name(trial.kind), name(trial.precision), trial.rows, trial.columns, trial.width);
      const auto repeat = trial.prepare();
      repeat(100);
      REQUIRE(trials.finite());
    }
}

TEST_CASE("every operation is timed at several shapes", "[calibrate]") {
  CpuDevice device(1);
  const OperationTrials trials(device, OperationTrials::least_order);
  std::map<std::pair<OperationKind, Precision>, std::set<double>> works;
  for (const OperationTrial& trial : trials.all()) {
    CAPTURE(name(trial.kind), name(trial.precision), trial.rows, trial.columns, trial.width);
    CHECK((trial.rows >= 1 && trial.columns >= 1 && trial.width >= 1));
    CHECK((trial.rows <= 64 && trial.columns <= 64 && trial.width <= 16));
    const double elements = trial.rows * trial.columns * trial.width;
    // Sizes that stand for nothing are 1. A solve has k^2 operations for each row or column.
    const double operations = trial.kind == OperationKind::product     ? 2 * elements
                              : trial.kind == OperationKind::eliminate ? 2 * elements
                              : trial.width > 1                        ? elements * trial.width
                                                                       : elements;
    CHECK(trial.work == Approx(operations));
    works[{trial.kind, trial.precision}].insert(trial.work);
  }
  for (const Precision p : {Precision::fp64, Precision::fp32}) {
    for (const OperationKind kind :
         {OperationKind::product, OperationKind::solve_left, OperationKind::eliminate,
          OperationKind::exchange, OperationKind::convert, OperationKind::generate,
          OperationKind::vector_product})
      CHECK(works[{kind, p}].size() > 2);
  }
  CHECK(works.size() == 20);
}
}  // namespace speedwell::test::operation_trials_tests
