// SPDX-License-Identifier: BSD-3-Clause
// Solves of one FP64 vector with a triangle in FP32, entry by entry: which numbers an unknown
// depends on, and in which order they are added.
#include <limits>

#include "device/bench.hpp"

namespace speedwell::test::substitution_tests {
namespace {

struct Solve {
  bool lower;
  Transpose transpose;
  /// Whether unknown i depends on right-hand side p, and on entry (i, p) of the triangle.
  bool depends(std::int64_t i, std::int64_t p) const {
    return lower == (transpose == Transpose::no) ? p <= i : p >= i;
  }
};

const std::vector<Solve> solves{
    {true, Transpose::no}, {true, Transpose::yes}, {false, Transpose::no}, {false, Transpose::yes}};

// Orders below, at and above one and more blocks of 256 unknowns, and with a part of 32 more.
const std::vector<std::int64_t> sizes{1, 31, 33, 255, 256, 257, 511, 513, 545, 800};

// Random L\U in the form in which the device reads them.
Floats prepared_factors(Bench& b, std::int64_t n) {
  Floats lu = plain_factors<float>(b, n);
  b.device->prepare_diagonal(*b.queue, lu.view());
  REQUIRE(lu.frame_intact());
  lu.put();
  return lu;
}

std::vector<double> solution(Bench& b, const Solve& solve, const Floats& lu,
                             const std::vector<double>& right_hand_side) {
  auto x = vector_of(b, right_hand_side);
  const MatrixView<double> view{x.data(), x.rows(), 1, x.rows()};
  solve.lower ? b.device->solve_lower(*b.queue, solve.transpose, lu.view(), view)
              : b.device->solve_upper(*b.queue, solve.transpose, lu.view(), view);
  CHECK(x.frame_intact());
  return x.plain().data;
}

std::vector<double> random_vector(Bench& b, std::int64_t n) {
  return uniform_vector(b, n).plain().data;
}

bool same_bits(double x, double y) {
  return std::bit_cast<std::uint64_t>(x) == std::bit_cast<std::uint64_t>(y);
}

}  // namespace

TEST_CASE("solves: a NaN reaches the unknowns that depend on it, and no others", "[solve]") {
  Bench b;
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  for (const std::int64_t n : sizes) {
    const Floats lu = prepared_factors(b, n);
    const std::vector<double> r = random_vector(b, n);
    for (const Solve& solve : solves) {
      const std::vector<double> expected = solution(b, solve, lu, r);
      for (const std::int64_t p :
           {std::int64_t{0}, n / 2, std::min(n, std::int64_t{256}) - 1, n - 1}) {
        CAPTURE(n, solve.lower, solve.transpose == Transpose::yes, p);
        std::vector<double> with_nan = r;
        with_nan[static_cast<std::size_t>(p)] = nan;
        const std::vector<double> x = solution(b, solve, lu, with_nan);
        std::int64_t wrong = 0;
        for (std::int64_t i = 0; i < n; ++i) {
          const auto at = static_cast<std::size_t>(i);
          wrong += solve.depends(i, p) ? !std::isnan(x[at]) : !same_bits(x[at], expected[at]);
        }
        CHECK(wrong == 0);
      }
    }
  }
}

TEST_CASE("solves read one triangle, and add in the same order every time", "[solve]") {
  Bench b;
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  for (const std::int64_t n : sizes) {
    const Floats lu = prepared_factors(b, n);
    const std::vector<double> r = random_vector(b, n);
    for (const Solve& solve : solves) {
      CAPTURE(n, solve.lower, solve.transpose == Transpose::yes);
      Floats half(b, n, n);
      half.set([&](std::int64_t i, std::int64_t j) {
        return (solve.lower ? j < i : j >= i) ? lu(i, j) : nan;
      });
      const std::vector<double> whole = solution(b, solve, lu, r);
      for (int time = 0; time < 3; ++time) {
        const std::vector<double> again = solution(b, solve, half, r);
        CHECK(std::ranges::equal(again, whole, same_bits));
      }
    }
  }
}
}  // namespace speedwell::test::substitution_tests
