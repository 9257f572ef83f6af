// SPDX-License-Identifier: BSD-3-Clause
#include "core/matrix_traits.hpp"

#include <set>

#include "catch.hpp"
#include "document/report_parts.hpp"

namespace speedwell::test::matrix_traits_tests {
TEST_CASE("each kind of matrix has one row of traits, and one name") {
  std::set<MatrixKind> kinds;
  std::set<std::string_view> names;
  for (const MatrixTraits& traits : all_matrices) {
    CAPTURE(traits.name);
    CHECK(kinds.insert(traits.kind).second);
    CHECK(names.insert(traits.name).second);
    CHECK(&traits_of(traits.kind) == &traits);
    CHECK(name(traits.kind) == traits.name);
    CHECK(parse<MatrixKind>(traits.name) == traits.kind);
  }
  CHECK_THROWS_AS(traits_of(static_cast<MatrixKind>(1000)), Fault);
}

TEST_CASE("which matrices need pivoting, have parameters, or are inadmissible") {
  CHECK(matrices_where(&MatrixTraits::needs_pivoting, true) == "hpl");
  CHECK(matrices_where(&MatrixTraits::needs_pivoting, false) ==
        "scaled-diagonal, fasi-higham, dominant");
  CHECK(matrices_where(&MatrixTraits::tunable, true) == "fasi-higham");
  CHECK(traits_of(MatrixKind::scaled_diagonal).inadmissible.empty());
  CHECK(traits_of(MatrixKind::fasi_higham).inadmissible.empty());
  CHECK_FALSE(traits_of(MatrixKind::dominant).inadmissible.empty());
  CHECK_FALSE(traits_of(MatrixKind::hpl).inadmissible.empty());
}

TEST_CASE("the text of a matrix names the options that determine it") {
  BenchmarkOptions o;
  o.matrix = MatrixKind::dominant;
  o.seed = 7;
  CHECK(matrix_text(o) == "dominant, seed 7");
  o.matrix = MatrixKind::fasi_higham;
  o.kappa = 100;
  o.rho = 0.25;
  CHECK(matrix_text(o) == "fasi-higham, kappa 100, rho 0.25; seed of b 8");
}
}  // namespace speedwell::test::matrix_traits_tests
