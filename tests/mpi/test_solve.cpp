// The solver's own parts, and the whole of it on small systems.
#include <lupine/solve.hpp>

#include <cmath>

#include "catch.hpp"
#include "device_choice.hpp"
#include "pipeline.hpp"
#include "refine/inverse.hpp"
#include "refine/norm_estimate.hpp"

namespace lupine {
namespace {

using test::Square;

SolveOptions options(std::int64_t nb, Precision precision = Precision::automatic) {
  SolveOptions o;
  o.nb = nb;
  o.precision = precision;
  o.device = test::device_choice().device;
  return o;
}

double element(std::int64_t i, std::int64_t j) {
  return std::sin(static_cast<double>(1 + i * 131 + j * 17)) + (i == j ? 0.5 : 0);
}

TEST_CASE("x is ones where b is A times ones", "[solve]") {
  for (const std::int64_t n : {1, 2, 3, 17, 100, 233})
    for (const Precision precision : {Precision::automatic, Precision::fp16, Precision::bf16,
                                      Precision::fp32, Precision::fp64}) {
      CAPTURE(n, name(precision));
      const Solution s = solve(MPI_COMM_WORLD, Matrix::from_function(n, element),
                               RightHandSide::of_ones(), options(16, precision));
      REQUIRE(s.converged);
      CHECK(s.columns[0].componentwise_error < 1e-14);
      REQUIRE(std::ssize(s.x) == n);
      for (const double x : s.x) CHECK(std::fabs(x - 1) <= s.columns[0].forward_bound + 1e-15);
      CHECK(s.columns[0].forward_bound < 1e-9);
      CHECK(s.condition >= 1);
      UNSCOPED_INFO(s.condition);
    }
}

}  // namespace
}  // namespace lupine
