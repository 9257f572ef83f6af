// SPDX-License-Identifier: BSD-3-Clause
// The scales inside of solves whose result is rounded to 16 bits: a device may bound solutions
// before it has them. Sizes are those of several strips of 256 unknowns, and odd ones.
#include <limits>

#include "device/bench.hpp"

namespace speedwell::test::solve_scales_tests {
namespace {

constexpr std::int64_t strip = 256;

/// X T = B with T = U or L^T, so that a row is a vector.
struct Solved {
  Plain x;
  Plain t;
  Plain before;
  double condition;

  /// |X T - B| of vector v, at most, as a share of its largest |X| |T| + |B|; infinite for a NaN.
  double share(std::int64_t v) const {
    double error = 0;
    double size = 0;
    for (std::int64_t j = 0; j < t.columns; ++j) {
      double sum = -before(v, j);
      double most = std::fabs(sum);
      for (std::int64_t k = 0; k <= j; ++k) {
        sum += x(v, k) * t(k, j);
        most += std::fabs(x(v, k) * t(k, j));
      }
      if (!std::isfinite(sum)) return HUGE_VAL;
      error = std::max(error, std::fabs(sum));
      size = std::max(size, most);
    }
    return size == 0 ? error : error / size;
  }
};

/// Solves for `vectors` right-hand sides value(v, i), i being the unknown.
template <class Value>
Solved solved(Bench& b, const Factored& f, bool lower, std::int64_t vectors, Precision purpose,
              const Value& value) {
  const std::int64_t n = f.lu.n;
  Floats rights(b, lower ? n : vectors, lower ? vectors : n);
  rights.set([&](std::int64_t i, std::int64_t j) { return lower ? value(j, i) : value(i, j); });
  const Plain before = rights.plain();
  lower ? b.device->solve_left_lower(*b.queue, f.block.view(), rights.view(), purpose, {})
        : b.device->solve_right_upper(*b.queue, f.block.view(), rights.view(), purpose, {});
  CHECK(rights.frame_intact());
  const Plain after = rights.plain();
  return {lower ? transposed(after) : after,
          lower ? transposed(lower_of(f.lu)) : apply(Transpose::no, upper_of(f.lu)),
          lower ? transposed(before) : before, f.condition};
}

// What rounding to 16 bits inside of a solve may cost, twice.
double allowed(const Solved& s, Precision purpose) {
  return (bytes_of(purpose) == 2 ? 0x1p-7 : 0x1p-13) * s.condition;
}

void check_all(const Solved& s, Precision purpose) {
  double worst = 0;
  for (std::int64_t v = 0; v < s.x.rows; ++v) worst = std::max(worst, s.share(v));
  CHECK(worst <= allowed(s, purpose));
}

/// Calls check(lower, purpose) for both triangles and all purposes.
template <class Check>
void for_each_solve(const Check& check) {
  for (const bool lower : {false, true})
    for (const auto purpose : precisions) {
      CAPTURE(lower, name(purpose));
      check(lower, purpose);
    }
}

// Triangles with a chain of -2 beside the diagonal, cut after every `length` unknowns: the entries
// of the inverses are powers of two, up to 2^(length - 1).
Factored chains(Bench& b, std::int64_t n, std::int64_t length) {
  Floats block(b, n, n);
  block.set([&](std::int64_t i, std::int64_t j) {
    const bool chained = std::max(i, j) == std::min(i, j) + 1 && std::max(i, j) % length != 0;
    return i == j ? 1.0f : chained ? -2.0f : i / strip != j / strip ? 0x1p-16f : 0.0f;
  });
  Square lu = square(block);
  b.device->prepare_diagonal(*b.queue, block.view());
  REQUIRE(block.frame_intact());
  return {std::move(block), std::move(lu), 1};
}

}  // namespace

TEST_CASE("rounded solves of odd sizes", "[solve]") {
  Bench b;
  std::uniform_real_distribution<float> entry(-1, 1);
  for (const std::int64_t n : {257, 511, 769}) {
    const Factored f = factored(b, safe_matrix(b, n));
    for (const std::int64_t m : {1, 65})
      for_each_solve([&](bool lower, Precision purpose) {
        CAPTURE(n, m);
        check_all(solved(b, f, lower, m, purpose,
                         [&](std::int64_t, std::int64_t) { return entry(b.random); }),
                  purpose);
      });
  }
}

// The scale of a strip of zeros must not be the smallest one, by which the factors of all strips
// are scaled.
TEST_CASE("rounded solves: a strip of zeros costs the others no bits", "[solve]") {
  Bench b;
  std::uniform_real_distribution<float> entry(-1, 1);
  const Factored f = factored(b, safe_matrix(b, 520));
  for (const float size : {1e-9f, 1.0f, 1e9f})
    for_each_solve([&](bool lower, Precision purpose) {
      CAPTURE(size);
      check_all(solved(b, f, lower, 40, purpose,
                       [&](std::int64_t, std::int64_t i) {
                         return i < strip ? 0.0f : size * entry(b.random);
                       }),
                purpose);
      const Solved zero = solved(b, f, lower, 3, purpose, [](auto...) { return 0.0f; });
      CHECK(std::ranges::count(zero.x.data, 0.0) == std::ssize(zero.x.data));
    });
}

TEST_CASE("rounded solves: strips of subnormal numbers", "[solve]") {
  Bench b;
  std::uniform_real_distribution<float> entry(0.5f, 1);
  const Factored f = factored(b, safe_matrix(b, 600));
  for_each_solve([&](bool lower, Precision purpose) {
    for (const std::int64_t at : {0, 1, 2}) {
      CAPTURE(at);
      check_all(solved(b, f, lower, 40, purpose,
                       [&](std::int64_t, std::int64_t i) {
                         return (i / strip == at ? 1e-40f : 1.0f) * entry(b.random);
                       }),
                purpose);
    }
    if (b.on_cpu()) return;  // its 16-bit products may take subnormal numbers for zero
    const Solved all =
        solved(b, f, lower, 40, purpose, [&](auto...) { return 1e-38f * entry(b.random); });
    check_all(all, purpose);
  });
}

// An Inf or NaN stays in its vector, in its strip and behind it, and nothing finite comes of it.
TEST_CASE("rounded solves: Inf and NaN", "[solve]") {
  Bench b;
  std::uniform_real_distribution<float> entry(-1, 1);
  constexpr std::int64_t bad = 7;
  const Factored f = factored(b, safe_matrix(b, 600));
  for (const float value :
       {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()})
    for (const std::int64_t at : {0, 255, 256, 599})
      for_each_solve([&](bool lower, Precision purpose) {
        CAPTURE(value, at);
        const Solved s = solved(b, f, lower, 40, purpose, [&](std::int64_t v, std::int64_t i) {
          return v == bad && i == at ? value : entry(b.random);
        });
        CHECK(s.share(bad) == HUGE_VAL);
        std::int64_t finite = 0;
        for (std::int64_t i = at; i < 600; ++i) finite += std::isfinite(s.x(bad, i));
        CHECK(finite == 0);
        double worst = 0;
        for (std::int64_t v = 0; v < 40; ++v)
          if (v != bad) worst = std::max(worst, s.share(v));
        CHECK(worst <= allowed(s, purpose));
      });
}

// All that an inverse can make of a right-hand side: the solutions are as large as their bound.
TEST_CASE("rounded solves: solutions far larger than right-hand sides do not overflow", "[solve]") {
  Bench b;
  for (const std::int64_t length : {2, 8, 12}) {
    const Factored f = chains(b, 600, length);
    for (const float size : {0x1p-96f, 1.0f, 0x1p96f})
      for_each_solve([&](bool lower, Precision purpose) {
        CAPTURE(length, size);
        const Solved s = solved(b, f, lower, 9, purpose, [&](auto...) { return size; });
        double worst = 0;
        for (std::int64_t v = 0; v < 9; ++v) worst = std::max(worst, s.share(v));
        CHECK(worst <= 0x1p-6);
        CHECK(s.x(0, length - 1) == std::ldexp(size, static_cast<int>(length)) - size);
      });
  }
}
}  // namespace speedwell::test::solve_scales_tests
