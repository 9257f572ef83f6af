// SPDX-License-Identifier: BSD-3-Clause
// The index functions of kernels, compared with grid/ and with the definition of the matrix.
#include <array>
#include <vector>

#include "catch.hpp"
#include "element/cyclic.hpp"
#include "grid/distribution.hpp"

namespace speedwell::test::cyclic_tests {
TEST_CASE("kernels convert indices as hosts do") {
  for (const std::int64_t n : {1, 7, 64, 100})
    for (const std::int64_t nb : {1, 3, 32, 128})
      for (const int processes : {1, 2, 3, 7})
        for (int me = 0; me < processes; ++me) {
          const Distribution host(n, nb, processes, me);
          const Cyclic kernel{nb, processes, me};
          for (std::int64_t g = 0; g < n; ++g) {
            REQUIRE(kernel.mine(g) == host.mine({g}));
            if (host.mine({g})) REQUIRE(kernel.local(g) == host.local({g}).value);
          }
          for (std::int64_t l = 0; l < host.local_size(); ++l)
            REQUIRE(kernel.global(l) == host.global({l}).value);
        }
}

TEST_CASE("a walk along a row meets every entry of the process's columns") {
  MatrixSpec spec;
  for (const auto kind : {MatrixKind::scaled_diagonal, MatrixKind::fasi_higham})
    for (const std::int64_t n : std::vector<std::int64_t>{5, 101, 3000000000}) {
      spec.kind = kind;
      spec.n = n;
      spec.stride = n | 1;
      spec.alpha = 1e-3;
      spec.beta = 2e-3;
      for (const auto& [nb, processes, me] : std::vector<std::array<std::int64_t, 3>>{
               {1, 1, 0}, {1, 3, 2}, {4, 2, 1}, {1000, 2, 0}}) {
        const Cyclic columns{nb, processes, me};
        const ColumnSteps steps = column_steps(spec, columns);
        const std::int64_t row = n - 2;
        for (const std::int64_t first : {0, 1, 3}) {
          RowWalk walk(spec, steps, row, first);
          std::int64_t local = first;
          bool right = true;
          const auto look = [&](std::int64_t column, double value) {
            right = right && column == columns.global(local) && value == spec.regular(row, column);
            ++local;
          };
          for (const std::int64_t count : {1, 2, 0, 7})
            spec.random() ? walk.walk<true>(spec, steps, count, look)
                          : walk.walk<false>(spec, steps, count, look);
          CHECK(right);
          CHECK(local == first + 10);
        }
      }
    }
}

TEST_CASE("generating many entries of b at once gives the same as one by one") {
  MatrixSpec spec;
  spec.seed = 77;
  std::vector<double> b(20);
  for (const std::int64_t first : {std::int64_t{0}, std::int64_t{19}, std::int64_t{5000000000}}) {
    spec.right_hand_side(first, 20, b.data());
    for (std::int64_t i = 0; i < 20; ++i)
      CHECK(b[static_cast<std::size_t>(i)] == spec.right_hand_side(first + i));
  }
}
}  // namespace speedwell::test::cyclic_tests
