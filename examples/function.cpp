// SPDX-License-Identifier: BSD-3-Clause
// A and b are functions of their indices: each rank computes its part.
#include <speedwell/speedwell.hpp>

#include <cmath>
#include <cstdio>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const auto a = speedwell::Matrix::from_function(1000, [](std::int64_t i, std::int64_t j) {
    return std::pow(0.5, static_cast<double>(std::abs(i - j)));
  });
  const auto b = speedwell::RightHandSide::from_function(
      1, [](std::int64_t i, std::int64_t) { return i == 0 ? 1. : 0.; });
  try {
    const speedwell::Solution s = speedwell::solve(MPI_COMM_WORLD, a, b);
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
      std::printf("x = %.6f %.6f ..., backward error %.1e\n", s.x[0], s.x[1],
                  s.columns[0].componentwise_error);
  } catch (const speedwell::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
}
