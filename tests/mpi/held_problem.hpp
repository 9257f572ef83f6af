// SPDX-License-Identifier: BSD-3-Clause
// A generated problem whose matrix is in memory too, and vectors for it: for tests of refinement.
#pragma once

#include <cstdint>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "pipeline.hpp"
#include "world.hpp"

namespace speedwell::test {

constexpr double infinity = std::numeric_limits<double>::infinity();

inline BenchmarkOptions matrix_of(MatrixKind kind, std::int64_t n, std::int64_t nb,
                                  double kappa = 1e3) {
  BenchmarkOptions o;
  o.n = n;
  o.run.nb = nb;
  o.matrix = kind;
  o.kappa = kappa;
  return o;
}

inline std::int64_t order() {
  return device_choice().device == DeviceKind::cuda ? 29 : 75;
}

/// A generated matrix whose entries stay in memory, beside those that are factored.
struct HeldProblem : Problem {
  HeldProblem(const Communicator& all, GridShape shape, const BenchmarkOptions& options,
              Precision storage = Precision::fp32, const Clock& clock = RunContext::none().clock())
      : Problem(all, shape, options, storage, clock),
        held(*device, a.rows(), a.columns(), Precision::fp64) {
    const auto queue = device->make_queue(Priority::normal);
    device->generate(*queue, spec(), a.rows(), a.columns(), held.local());
    queue->synchronize();
  }
  System system(Scales scales = {}) {
    return {grid, *device, held_matrix(held.local()), a.rows(), a.columns(), std::move(scales)};
  }
  void factor_in(Precision precision) {
    REQUIRE(factor({.width = 16, .precision = precision, .pivoting = Pivoting::partial}).usable());
  }
  LuSolver solver() { return {transport, a, 16, pivots}; }

  DistributedMatrix held;
};

/// Whole vectors of random numbers, equal on every rank.
inline std::vector<Vector> random_vectors(std::int64_t n, std::int64_t count, unsigned seed = 1) {
  std::mt19937 bits(seed);
  std::normal_distribution<double> normal;
  std::vector<Vector> all(static_cast<std::size_t>(count), Vector(static_cast<std::size_t>(n)));
  for (Vector& v : all)
    for (double& value : v) value = normal(bits);
  return all;
}

inline MultiVector local(const Distribution& mine, const std::vector<Vector>& whole) {
  std::vector<Vector> parts;
  parts.reserve(whole.size());
  for (const Vector& v : whole) parts.push_back(local_part(mine, v));
  return together(mine.local_size(), parts);
}

}  // namespace speedwell::test
