// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cmath>

#include "catch.hpp"
#include "core/numbers.hpp"
#include "lapack.hpp"
#include "pipeline.hpp"

namespace speedwell::test::lapack_tests {
namespace {

struct Reference {
  std::vector<double> x;
  double backward_error = 0;  // ||b - A x|| / (||A|| ||x|| + ||b||), infinity norms
  double kappa = 0;           // ||A|| ||A^-1||
};

Reference reference_of(const Square& a, const std::vector<double>& b) {
  const Lapack lapack = dgesv(a, one_column(b));
  REQUIRE(lapack.info == 0);
  return {lapack.x.data, backward_error(a, b, lapack.x.data),
          infinity_norm(a) * infinity_norm(dgetri(lapack))};
}

void compare(const BenchmarkOptions& o, Precision precision) {
  const auto all = Communicator::duplicate(comm_world());
  Problem p(all, squarest(all.size(), GridOrder::row), o);
  const Square a = whole(p.spec());
  const auto b = right_hand_side(p.spec());
  const Reference reference = reference_of(a, b);
  REQUIRE(p.factor({.width = o.run.nb, .precision = precision}).usable());
  const RefineOutcome out =
      p.solve({RefineMethod::automatic, 50, o.run.nb, StopRule::componentwise});
  const auto x = gather(p.grid, p.a.columns(), out.x);

  CAPTURE(o.n, o.run.nb, name(o.matrix), o.kappa, name(precision), reference.kappa);
  REQUIRE(out.converged);
  std::vector<double> difference = x;
  for (std::size_t i = 0; i < x.size(); ++i) difference[i] -= reference.x[i];
  const auto n = static_cast<double>(o.n);
  CHECK(largest(difference) / largest(reference.x) <= 10 * reference.kappa * n * eps);
  // dgesv may happen to find the exact solution, but one rounding of x must be allowed.
  CHECK(backward_error(a, b, x) <= 10 * std::max(reference.backward_error, eps));
}

}  // namespace

TEST_CASE("solutions are as good as LAPACK's") {
  const std::int64_t largest_n = device_choice().device == DeviceKind::cuda ? 175 : 501;
  for (const auto precision :
       {Precision::fp16, Precision::bf16, Precision::fp16x3, Precision::fp32})
    for (const std::int64_t n : {std::int64_t{10}, std::int64_t{100}, largest_n})
      for (const auto kind :
           {MatrixKind::scaled_diagonal, MatrixKind::fasi_higham, MatrixKind::dominant}) {
        BenchmarkOptions o;
        o.n = n;
        o.run.nb = 37;
        o.matrix = kind;
        o.kappa = 100;
        compare(o, precision);
      }
}

TEST_CASE("kappa up to a thousand, several seeds") {
  for (const auto precision : {Precision::fp16, Precision::bf16}) {
    for (const double kappa : {10.0, 1e3})
      for (const double rho : {0.25, 1.0}) {
        BenchmarkOptions o;
        o.n = 400;
        o.run.nb = 64;
        o.matrix = MatrixKind::fasi_higham;
        o.kappa = kappa;
        o.rho = rho;
        compare(o, precision);
      }
    for (const std::uint64_t seed : {2u, 77u, 123456789u}) {
      BenchmarkOptions o;
      o.n = 300;
      o.run.nb = 50;
      o.seed = seed;
      compare(o, precision);
    }
  }
}
}  // namespace speedwell::test::lapack_tests
