// SPDX-License-Identifier: BSD-3-Clause
#include "compare/solve_run.hpp"

#include <fmt/format.h>
#include <speedwell/matrix.hpp>
#include <speedwell/solution.hpp>

#include <memory>
#include <utility>

#include "comm/process_grid.hpp"
#include "compare/lapack_run.hpp"
#include "device/device.hpp"
#include "generate/generator.hpp"
#include "host/thread_scope.hpp"
#include "refine/refinement.hpp"
#include "solve/solver.hpp"
#include "source/source.hpp"

namespace speedwell {

namespace {

/// A matrix source that generates the benchmark's A.
class GeneratedSource final : public MatrixSource {
 public:
  GeneratedSource(Device& host, const MatrixSpec& spec) : host_(host), spec_(spec) {}
  std::int64_t n() const override { return spec_.n; }
  std::string description() const override { return fmt::format("generated, of order {}", n()); }
  void check(const Communicator&) const override {}
  void fill(const ProcessGrid&, const Distribution& rows, const Distribution& columns,
            PartWriter& a) const override {
    const auto queue = host_.make_queue(Priority::normal);
    a.by_columns([&](std::int64_t first, MatrixView<double> to) {
      if (to.columns == columns.local_size())
        host_.generate(*queue, spec_, rows, columns, to);
      else
        for (std::int64_t j = 0; j < to.columns; ++j)
          host_.generate(*queue, spec_, rows, alone(columns.global(LocalIndex{first + j})),
                         to.block(0, j, to.rows, 1));
      queue->synchronize();
    });
  }

 private:
  // The distribution in which a process owns this column alone.
  Distribution alone(GlobalIndex column) const {
    return {spec_.n, 1, static_cast<int>(spec_.n), static_cast<int>(column.value)};
  }

  Device& host_;
  MatrixSpec spec_;
};

}  // namespace

SolveOptions solve_options(const Setup& setup) {
  const BenchmarkOptions& o = setup.options;
  return {.run = o.run,
          .refine = o.refine,
          .max_iterations = o.max_iterations,
          .condition = ConditionCheck::off};
}

Turn solve_run(const Communicator& all, const Setup& setup, const RunContext& run) {
  const BenchmarkOptions& o = setup.options;
  const ThreadScope threads(o.run.threads);
  const auto host = make_device({.kind = DeviceKind::cpu, .threads = o.run.threads});
  const Generator generator(o, all);
  const MatrixSpec& spec = generator.spec();
  const auto b = [&](std::int64_t i, std::int64_t) { return spec.right_hand_side(i); };
  const Matrix a(std::make_shared<GeneratedSource>(*host, spec));
  Turn turn;
  Solution s;
  try {
    s = solve(all.handle(), a, RightHandSide::from_function(1, b), solve_options(setup), {}, {},
              run);
  } catch (const AccuracyError& error) {
    turn.failure = error.what();
    s = error.best();
  } catch (const SingularError& error) {
    turn.failure = error.what();
  }
  turn.seconds = s.seconds;
  turn.steps = s.steps;
  turn.refine_seconds = 0;
  for (const SolveStep& step : s.steps) turn.refine_seconds += step.refine_seconds;
  if (!turn.passed()) return turn;
  const ProcessGrid grid(all, setup.lu.grid);
  const Distribution rows = grid.rows(spec.n, setup.lu.nb);
  const Distribution columns = grid.columns(spec.n, setup.lu.nb);
  turn.scaled_residual = scaled_residual(
      system_norms(grid, *host, rows, columns, spec, local_part(columns, s.x)), spec.n);
  turn.failure = residual_failure(turn.scaled_residual, o.threshold);
  return turn;
}

}  // namespace speedwell
