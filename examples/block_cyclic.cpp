// SPDX-License-Identifier: BSD-3-Clause
// A lies block-cyclically over a process grid, as ScaLAPACK has it, and is read where it is.
#include <speedwell/speedwell.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

/// The global indices, of n in blocks of nb, that process `me` of `processes` has.
std::vector<std::int64_t> indices(std::int64_t n, std::int64_t nb, int processes, int me) {
  std::vector<std::int64_t> mine;
  for (std::int64_t i = 0; i < n; ++i)
    if (i / nb % processes == me) mine.push_back(i);
  return mine;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 1, grid[2] = {0, 0};
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Dims_create(ranks, 2, grid);
  speedwell::SolveOptions options;
  options.run.nprow = grid[0];
  options.run.npcol = grid[1];

  const std::int64_t n = 1000, nb = 64;
  const auto rows = indices(n, nb, grid[0], rank / grid[1]);
  const auto columns = indices(n, nb, grid[1], rank % grid[1]);
  const auto lld = std::max<std::int64_t>(1, std::ssize(rows));
  std::vector<double> a, b(lld, 0);
  for (const std::int64_t j : columns) {
    for (const std::int64_t i : rows) a.push_back(std::pow(0.5, std::abs(i - j)));
    a.resize((a.size() + lld - 1) / lld * lld);
  }
  if (rank == 0) b[0] = 1;

  try {
    const speedwell::Descriptor of_a{1, 0, n, n, nb, nb, 0, 0, lld};
    const speedwell::Descriptor of_b{1, 0, n, 1, nb, nb, 0, 0, lld};
    const speedwell::Solution s =
        speedwell::solve(MPI_COMM_WORLD, speedwell::Matrix::block_cyclic(of_a, a.data()),
                         speedwell::RightHandSide::block_cyclic(of_b, b.data()), options);
    if (rank == 0)
      std::printf("x = %.6f %.6f ..., forward error <= %.1e\n", s.x[0], s.x[1],
                  s.columns[0].forward_bound);
  } catch (const speedwell::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
}
