// SPDX-License-Identifier: BSD-3-Clause
// Solves with triangles that are ready (Device::prepare_solves): their error is that of an update.
#include <cmath>
#include <vector>

#include "core/numbers.hpp"
#include "device/bench.hpp"

namespace speedwell::test::ready_solves_tests {
namespace {

/// The inverse of a triangle of L\U in FP64, without the ones of L.
Plain inverse_of(const Square& lu, Triangle triangle) {
  const std::int64_t n = lu.n;
  Plain inverse(n, n);
  const bool lower = triangle == Triangle::unit_lower;
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t step = 0; step < n; ++step) {
      const std::int64_t i = lower ? step : n - 1 - step;
      double sum = i == j ? 1 : 0;
      for (std::int64_t k = lower ? j : i + 1; k < (lower ? i : j + 1); ++k)
        sum -= lu(i, k) * inverse(k, j);
      inverse(i, j) = lower ? sum : sum / lu(i, i);
    }
  return inverse;
}

/// X and what may be wrong with it, by exact inverses: the roundings to 11 bits of both factors of
/// the product, numbers below the range of FP16, and sums in FP32.
struct Expected {
  Plain x;
  Plain error;
};

/// @param unit half the distance from 1 to the next number of the format to which products round
Expected expected(const Factored& f, Triangle triangle, const Plain& b, double unit = 0x1p-11) {
  const bool lower = triangle == Triangle::unit_lower;
  Plain inverse = inverse_of(f.lu, triangle);
  const std::int64_t n = f.lu.n;
  const auto times = [&](const Plain& t, const Plain& right) {
    return lower ? product(t, right) : product(right, t);
  };
  Expected e{times(inverse, b), Plain(b.rows, b.columns)};
  Plain beside = inverse;
  for (std::int64_t i = 0; i < n; ++i) beside(i, i) = 0;
  const Plain rounded = times(magnitudes(beside), magnitudes(b));
  const Plain all = times(magnitudes(inverse), magnitudes(b));
  const double fp32 = 4 * f.condition * static_cast<double>(n + 10) * 0x1p-24;
  double most = 0;
  for (const double value : all.data) most = std::max(most, value);
  for (std::size_t i = 0; i < e.error.data.size(); ++i)
    e.error.data[i] = 2.01 * unit * rounded.data[i] + fp32 * most;
  return e;
}

void check(Bench& b, const Factored& f, Triangle triangle, std::int64_t vectors,
           Precision purpose) {
  const bool lower = triangle == Triangle::unit_lower;
  const std::int64_t n = f.lu.n;
  const std::int64_t rows = lower ? n : vectors;
  const std::int64_t columns = lower ? vectors : n;
  CAPTURE(n, vectors, lower, name(purpose));
  Floats right = uniform<float>(b, rows, columns);
  // Processors have products of 8 bits.
  const bool bf16 = purpose == Precision::bf16 && b.device->kind() == DeviceKind::cpu;
  const Expected e = expected(f, triangle, right.plain(), bf16 ? 0x1p-8 : 0x1p-11);
  Low room(b, purpose, rows, columns);
  b.device->prepare_solves(*b.queue, triangle, f.block.view(), purpose, vectors);
  if (lower)
    b.device->solve_left_lower(*b.queue, f.block.view(), right.view(), purpose, room.view());
  else
    b.device->solve_right_upper(*b.queue, f.block.view(), right.view(), purpose, room.view());
  CHECK(right.frame_intact());
  CHECK(room.frame_intact());
  const Plain x = right.plain();
  double worst = 0;
  for (std::size_t i = 0; i < x.data.size(); ++i)
    worst = std::max(worst, std::fabs(x.data[i] - e.x.data[i]) / e.error.data[i]);
  CHECK(worst <= 1);
}

}  // namespace

TEST_CASE("solves with a triangle that is ready have the error of an update", "[solve][ready]") {
  Bench b;
  for (const std::int64_t n : {1, 7, 64, 65, 200, 256, 257, 600}) {
    Factored f = factored(b, safe_matrix(b, n));
    for (const Precision purpose : {Precision::fp16, Precision::bf16})
      for (const std::int64_t vectors : {1, 130})
        for (const Triangle triangle : {Triangle::upper, Triangle::unit_lower})
          check(b, f, triangle, vectors, purpose);
  }
}

TEST_CASE("no solve takes a triangle that belongs to another block", "[solve][ready]") {
  Bench b;
  constexpr std::int64_t n = 100;
  Factored first = factored(b, safe_matrix(b, n));
  Factored second = factored(b, safe_matrix(b, n));
  b.device->prepare_solves(*b.queue, Triangle::upper, first.block.view(), Precision::fp16, 30);
  Floats right = uniform<float>(b, 30, n);
  const Expected e = expected(second, Triangle::upper, right.plain());
  Low room(b, Precision::fp16, 30, n);
  b.device->solve_right_upper(*b.queue, second.block.view(), right.view(), Precision::fp16,
                              room.view());
  CHECK(right.frame_intact());
  const Plain x = right.plain();
  double most = 0;
  double worst = 0;
  for (std::size_t i = 0; i < x.data.size(); ++i) {
    most = std::max(most, std::fabs(e.x.data[i]));
    worst = std::max(worst, std::fabs(x.data[i] - e.x.data[i]));
  }
  CHECK(worst <= 1e-2 * most);
}

TEST_CASE("inverses that grow are not used from the next factorization on", "[solve][ready]") {
  // U is 1 on its diagonal and -1 above it, so that its inverse grows to 2^18.
  Bench b;
  constexpr std::int64_t n = 20;
  Floats growing(b, n, n);
  growing.set([](std::int64_t i, std::int64_t j) { return i == j ? 1.0f : i < j ? -1.0f : 0.0f; });
  Factored f = factored(b, std::move(growing));
  const QueueWork work{
      .width = n, .solved_rows = 5000, .purpose = Precision::fp16, .inverts = true};
  b.device->prepare(*b.queue, work);
  b.device->prepare_solves(*b.queue, Triangle::upper, f.block.view(), Precision::fp16, 1 << 30);
  b.device->prepare(*b.queue, work);
  b.device->prepare_solves(*b.queue, Triangle::upper, f.block.view(), Precision::fp16, 1 << 30);
  Floats right = uniform<float>(b, 30, n);
  const Plain before = right.plain();
  Low room(b, Precision::fp16, 30, n);
  b.device->solve_right_upper(*b.queue, f.block.view(), right.view(), Precision::fp16, room.view());
  CHECK(right.frame_intact());
  // One rounding to 11 bits of the whole of B would be wrong by 2^-11 of the largest sum.
  const Plain x = right.plain();
  const Plain residual = product(x, upper_of(f.lu));
  double worst = 0;
  for (std::int64_t i = 0; i < 30; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      double size = 0;
      for (std::int64_t k = 0; k <= j; ++k) size += std::fabs(x(i, k) * f.lu(k, j));
      worst = std::max(worst, std::fabs(residual(i, j) - before(i, j)) / size);
    }
  CHECK(worst <= 0x1p-12);
}

TEST_CASE("solves with L in FP64 that is ready are those of FP64", "[solve][ready]") {
  Bench b;
  for (const std::int64_t n : {1, 2, 64, 127, 128, 129, 300, 512}) {
    // L of a matrix with partial pivoting has no number above 1, and small inverses.
    Doubles l(b, n, n);
    l.set([&](std::int64_t, std::int64_t) {
      return static_cast<double>(b.below(2001) - 1000) / (1000 * std::sqrt(static_cast<double>(n)));
    });
    for (const std::int64_t vectors : {1, 70}) {
      CAPTURE(n, vectors);
      Doubles right = uniform<double>(b, n, vectors);
      const Plain before = right.plain();
      Doubles room(b, n, vectors);
      b.device->prepare_solves(*b.queue, Triangle::unit_lower, l.view(), Precision::fp64, vectors);
      b.device->solve_left_lower(*b.queue, l.view(), right.view(), Precision::fp64, room.view());
      CHECK(right.frame_intact());
      CHECK(room.frame_intact());
      CHECK(l.unchanged());
      const Plain x = right.plain();
      double worst = 0;  // of |B - L X| / (n eps |L||X|)
      for (std::int64_t j = 0; j < vectors; ++j)
        for (std::int64_t i = 0; i < n; ++i) {
          double sum = x(i, j);
          double size = std::fabs(x(i, j));
          for (std::int64_t k = 0; k < i; ++k) {
            sum += l(i, k) * x(k, j);
            size += std::fabs(l(i, k) * x(k, j));
          }
          worst = std::max(
              worst, std::fabs(before(i, j) - sum) / (static_cast<double>(n + 3) * eps * size));
        }
      CHECK(worst <= 4);
    }
  }
}
}  // namespace speedwell::test::ready_solves_tests
