// SPDX-License-Identifier: BSD-3-Clause
// A process alone solves with arrays, and knows nothing of MPI.
#include <speedwell/speedwell.hpp>

#include <cstdio>
#include <vector>

int main() {
  const std::vector<double> a{4, 1, 2, 3};  // the columns (4, 1) and (2, 3)
  const std::vector<double> b{8, 7};
  try {
    const speedwell::Solution s = speedwell::solve(speedwell::Matrix::dense(2, a.data(), 2),
                                                   speedwell::RightHandSide::dense(1, b.data(), 2));
    std::printf("x = %.6f %.6f, backward error %.1e\n", s.x[0], s.x[1],
                s.columns[0].componentwise_error);
  } catch (const speedwell::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
