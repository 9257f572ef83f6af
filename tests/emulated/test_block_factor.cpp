// SPDX-License-Identifier: BSD-3-Clause
// A diagonal block that one kernel factors: with several of its blocks of threads at once, and in
// memory that held other numbers before.
#include <cuda_emulation.hpp>

#include <cmath>
#include <limits>
#include <vector>

#include "core/numbers.hpp"
#include "cuda/kernels.hpp"
#include "device/bench.hpp"
#include "device/cuda/lane.hpp"

namespace speedwell::test::block_factor_tests {
namespace {

/// So many blocks of threads side by side, for a time.
struct AtOnce {
  explicit AtOnce(int count) { emulation::set_blocks_at_once(count); }
  ~AtOnce() { emulation::set_blocks_at_once(1); }
  AtOnce(const AtOnce&) = delete;
  AtOnce& operator=(const AtOnce&) = delete;
};

struct Found {
  Plain lu;
  std::int64_t bad_pivot = -1;
  std::int64_t stuck = 0;
};

/// What the kernel leaves of A, given NaN as its scratch memory.
Found factored(Bench& b, Floats& a, int blocks, std::int64_t begin = 0,
               unsigned most_looks = 20000) {
  const std::int64_t bytes = cuda::factor_block_scratch(a.rows());
  const Buffer scratch = b.device->allocate(bytes + 16);
  b.device->upload(*b.queue,
                   std::vector<float>(static_cast<std::size_t>(bytes / 4 + 4),
                                      std::numeric_limits<float>::quiet_NaN()),
                   scratch.as<float>());
  const Buffer words = b.device->allocate(16);
  b.device->upload(*b.queue, std::vector<std::int64_t>{-1, 0}, words.as<std::int64_t>());
  auto* const word = words.as<std::int64_t>();
  b.device->synchronize_all();
  Lane lane(Priority::normal);
  REQUIRE(cuda::factor_block(lane.stream(), a.view(), begin, blocks, scratch.data(), word, word + 1,
                             most_looks) == cudaSuccess);
  b.device->synchronize_all();
  std::vector<std::int64_t> found(2);
  b.device->download(*b.queue, word, found);
  a.get();
  CHECK(a.frame_intact());
  return {a.plain(), found[0], found[1]};
}

/// L\U in FP64, in which blocks of triangle_order on the diagonal have L^-1\U^-1.
Plain expected(Plain a) {
  const std::int64_t n = a.rows;
  for (std::int64_t k = 0; k < n; ++k)
    for (std::int64_t i = k + 1; i < n; ++i) {
      a(i, k) /= a(k, k);
      for (std::int64_t j = k + 1; j < n; ++j) a(i, j) -= a(i, k) * a(k, j);
    }
  for (std::int64_t s = 0; s < n; s += cuda::triangle_order) {
    const std::int64_t w = std::min(cuda::triangle_order, n - s);
    Plain inverse(w, w);
    for (std::int64_t j = 0; j < w; ++j) {
      for (std::int64_t i = j + 1; i < w; ++i) {
        double sum = a(s + i, s + j);
        for (std::int64_t k = j + 1; k < i; ++k) sum += a(s + i, s + k) * inverse(k, j);
        inverse(i, j) = -sum;
      }
      for (std::int64_t i = j; i >= 0; --i) {
        double sum = i == j ? 1 : 0;
        for (std::int64_t k = i + 1; k <= j; ++k) sum -= a(s + i, s + k) * inverse(k, j);
        inverse(i, j) = sum / a(s + i, s + i);
      }
    }
    for (std::int64_t j = 0; j < w; ++j)
      for (std::int64_t i = 0; i < w; ++i) a(s + i, s + j) = inverse(i, j);
  }
  return a;
}

Floats dominant(Bench& b, std::int64_t n) {
  Floats a = uniform<float>(b, n, n);
  a.set([&](std::int64_t i, std::int64_t j) {
    return a(i, j) + (i == j ? std::sqrt(static_cast<float>(n)) : 0);
  });
  return a;
}

}  // namespace

TEST_CASE("one kernel factors a block, with any number of its blocks at once", "[factor]") {
  Bench b;
  for (const int at_once : {1, 3, 5})
    for (const std::int64_t n : {1, 7, 63, 64, 65, 128, 200, 257, 330}) {
      const AtOnce running(at_once);
      CAPTURE(at_once, n);
      Floats a = dominant(b, n);
      const Plain wanted = expected(a.plain());
      const Found found = factored(b, a, 2 * at_once);
      CHECK(found.bad_pivot == -1);
      CHECK(found.stuck == 0);
      double most = 0;
      for (std::int64_t j = 0; j < n; ++j)
        for (std::int64_t i = 0; i < n; ++i)
          most = std::max(most, std::fabs(found.lu(i, j) - wanted(i, j)));
      CHECK(most <= 1e-5 * std::sqrt(static_cast<double>(n)));
    }
}

TEST_CASE("one kernel gives the same bits in every order of its blocks", "[factor]") {
  Bench b;
  Floats a = dominant(b, 321);
  const Plain before = a.plain();
  const Found one = factored(b, a, 1);
  for (int time = 0; time < 3; ++time) {
    const AtOnce running(4);
    a.set([&](std::int64_t i, std::int64_t j) { return static_cast<float>(before(i, j)); });
    CHECK(factored(b, a, 8).lu.data == one.lu.data);
  }
}

TEST_CASE("one kernel names the first bad pivot, and does not wait for ever", "[factor]") {
  Bench b;
  const AtOnce running(3);
  for (const float bad :
       {0.f, std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()})
    for (const std::int64_t place : {0, 5, 64, 150}) {
      CAPTURE(bad, place);
      Floats a = dominant(b, 190);
      a.set([&](std::int64_t i, std::int64_t j) {
        if (i == place || j == place) return i == j ? bad : 0;
        return a(i, j);
      });
      const Found found = factored(b, a, 6, 1000);
      CHECK(found.bad_pivot == 1000 + place);
      CHECK(found.stuck == 0);
    }
}

TEST_CASE("one kernel says so where its blocks would wait for ever", "[factor]") {
  Bench b;
  const AtOnce running(4);
  std::int64_t stuck = 0;
  for (int time = 0; time < 10 && stuck == 0; ++time) {
    Floats a = dominant(b, 330);
    stuck = factored(b, a, 8, 0, 0).stuck;  // no block waits at all
  }
  CHECK(stuck == 1);
}
}  // namespace speedwell::test::block_factor_tests
