// SPDX-License-Identifier: BSD-3-Clause
// Rank 0 has A; it is factored once, and solved with many times: inverse iteration.
#include <speedwell/speedwell.hpp>

#include <algorithm>
#include <cstdio>
#include <vector>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const std::int64_t n = 100;
  std::vector<double> a, v;
  if (rank == 0) {
    a.resize(n * n);
    v.assign(n, 1);
    for (std::int64_t j = 0; j < n; ++j) {
      a[j + j * n] = 2;
      if (j > 0) a[j - 1 + j * n] = a[j + (j - 1) * n] = -1;
    }
  }
  try {
    speedwell::Factorization factors(MPI_COMM_WORLD, speedwell::Matrix::dense(n, a.data(), n));
    double norm = 1;
    for (int step = 0; step < 20; ++step) {
      v = factors.solve(speedwell::RightHandSide::dense(1, v.data(), n)).x;
      if (rank != 0) continue;
      norm = *std::max_element(v.begin(), v.end());  // all are positive
      for (double& x : v) x /= norm;
    }
    if (rank == 0) std::printf("smallest eigenvalue %.12f\n", 1 / norm);
  } catch (const speedwell::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
}
