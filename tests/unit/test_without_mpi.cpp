// SPDX-License-Identifier: BSD-3-Clause
// Calls of the library before MPI_Init. This program never calls MPI_Init.
#include <speedwell/benchmark.hpp>
#include <speedwell/solve.hpp>

#include <string>
#include <vector>

#include "catch.hpp"
#include "refusal.hpp"

namespace speedwell::test::without_mpi_tests {
TEST_CASE("functions that need MPI say that it is not initialized", "[mpi-start]") {
  const std::string words = "MPI is not initialized; allowed: a call after MPI_Init";
  const std::vector<double> a{2, 0, 0, 4};
  const Matrix matrix = Matrix::dense(2, a.data(), 2);
  CHECK(refusal_of([] { mxp(MPI_COMM_WORLD, {}); }) == words);
  CHECK(refusal_of([] { hpl(MPI_COMM_WORLD, {}); }) == words);
  CHECK(refusal_of([&] { Factorization(MPI_COMM_WORLD, matrix); }) == words);
  CHECK(refusal_of([&] { solve(MPI_COMM_WORLD, matrix, RightHandSide::dense(1, a.data(), 2)); }) ==
        words);
}
}  // namespace speedwell::test::without_mpi_tests
