// SPDX-License-Identifier: BSD-3-Clause
#include "bench/lapack_run.hpp"

#include <fmt/format.h>

#include <memory>
#include <vector>

#include "comm/process_grid.hpp"
#include "device/cpu/thread_scope.hpp"
#include "device/device.hpp"
#include "generate/generator.hpp"
#include "refine/refinement.hpp"
#include "refine/system.hpp"
#include "setup/sizing.hpp"

namespace lupine {

namespace {

std::string lapack_failure(const LapackOutcome& outcome) {
  if (outcome.info > 0)
    return fmt::format("pivot {} (from 0) is zero, A is singular (info = {})", outcome.info - 1,
                       outcome.info);
  if (outcome.info < 0) return fmt::format("argument {} is refused", -outcome.info);
  if (outcome.iterations < 0)
    return fmt::format("gave up its refinement, and factored again in FP64 (iter = {})",
                       outcome.iterations);
  return "";
}

}  // namespace

std::string lapack_obstacle(LapackDriver driver, std::int64_t n, double free) {
  if (!has_lapack()) return "OpenBLAS was built without LAPACK";
  const auto order = static_cast<double>(n);
  const double a = 8 * order * order;
  const double workspace = driver == LapackDriver::dsgesv ? 4 * order * (order + 1) : 0;
  if (a + workspace <= free) return "";
  return fmt::format("it needs {} on one node, and {} are free", gibibytes(a + workspace),
                     gibibytes(free));
}

std::string residual_failure(double scaled_residual, double threshold) {
  if (threshold <= 0 || scaled_residual < threshold) return "";
  return fmt::format("residual {:.3g}, allowed is less than {:g}", scaled_residual, threshold);
}

Turn lapack_run(LapackDriver driver, const Communicator& alone, const BenchmarkOptions& options,
                int threads, const Clock& clock) {
  const std::int64_t n = options.n;
  const ThreadScope scope(threads);
  const auto device = make_device({.kind = DeviceKind::cpu, .threads = threads});
  const auto queue = device->make_queue(Priority::normal);
  const Generator generator(options, alone);
  const MatrixSpec& spec = generator.spec();
  const Distribution whole(n, n, 1, 0);
  const Buffer memory = device->allocate(n * n * 8);
  const AnyMatrix a{Precision::fp64, memory.data(), n, n, n};
  device->generate(*queue, spec, whole, whole, a);
  // Written before the clock starts, so that the workspace's pages are mapped, as those of A are.
  const std::int64_t floats = lapack_workspace(driver, n);
  const Buffer workspace = device->allocate(floats * 4);
  if (floats > 0)
    device->generate(*queue, spec, whole, whole, {Precision::fp32, workspace.data(), n, n, n});
  queue->synchronize();
  std::vector<double> x = right_hand_side(spec, whole);

  const double begin = clock.now();
  const LapackOutcome outcome = solve_by_lapack(
      driver, a.as<double>(), x, {workspace.as<float>(), static_cast<std::size_t>(floats)});
  Turn turn;
  turn.seconds = clock.now() - begin;
  turn.failure = lapack_failure(outcome);
  if (outcome.info != 0) return turn;
  const ProcessGrid grid(alone, {1, 1, GridOrder::row});
  turn.scaled_residual = scaled_residual(system_norms(grid, *device, whole, whole, spec, x), n);
  if (turn.passed()) turn.failure = residual_failure(turn.scaled_residual, options.threshold);
  return turn;
}

}  // namespace lupine
