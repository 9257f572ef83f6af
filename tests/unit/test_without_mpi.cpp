// What programs see that call the library before MPI_Init: these tests never do.
#include <lupine/benchmark.hpp>
#include <lupine/error.hpp>
#include <lupine/solve.hpp>

#include <string>
#include <vector>

#include "catch.hpp"

using namespace lupine;

namespace {

template <class Call>
std::string usage_error(const Call& call) {
  try {
    call();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("what needs MPI says that it is not initialized", "[mpi-start]") {
  const std::string words = "MPI is not initialized; allowed: a call after MPI_Init";
  const std::vector<double> a{2, 0, 0, 4};
  const Matrix matrix = Matrix::dense(2, a.data(), 2);
  CHECK(usage_error([] { mxp(MPI_COMM_WORLD, {}); }) == words);
  CHECK(usage_error([] { hpl(MPI_COMM_WORLD, {}); }) == words);
  CHECK(usage_error([&] { Factorization(MPI_COMM_WORLD, matrix); }) == words);
  CHECK(usage_error([&] { solve(MPI_COMM_WORLD, matrix, RightHandSide::dense(1, a.data(), 2)); }) ==
        words);
}
