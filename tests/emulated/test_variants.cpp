// SPDX-License-Identifier: BSD-3-Clause
// Trials of the variants of an operation before the first run, and what follows from them.
#include <cuda_emulation.hpp>

#include <algorithm>
#include <vector>

#include "device/bench.hpp"
#include "device/cuda/variants.hpp"

namespace speedwell::test::variants_tests {
namespace {

constexpr std::int64_t order = 150;
const QueueWork lu{.width = order,
                   .solved_rows = 5000,
                   .solved_columns = 300,
                   .purpose = Precision::fp16,
                   .factors = true,
                   .inverts = true};
const QueueWork wide{
    .width = 200, .solved_columns = 17000, .purpose = Precision::fp64, .inverts = true};
const QueueWork panel{.width = 64, .purpose = Precision::fp64, .permutes = true, .leaf_rows = 1100};

VariantChoice choice(const Bench& b, std::string_view operation, std::int64_t size) {
  const std::vector<VariantChoice> all = b.device->variant_choices();
  const auto found = std::ranges::find_if(all, [&](const VariantChoice& one) {
    return one.operation == operation && one.size == size;
  });
  REQUIRE(found != all.end());
  return *found;
}

}  // namespace

TEST_CASE("trials choose the faster variant of each operation", "[variants]") {
  Bench b;
  for (int time = 0; time < 2; ++time) {
    b.device->prepare(*b.queue, lu);
    b.device->prepare(*b.queue, wide);
    b.device->prepare(*b.queue, panel);
  }
  REQUIRE(b.device->variant_choices().size() == 4);
  for (const VariantChoice& one :
       {choice(b, varied::diagonal, order), choice(b, varied::solves, order),
        choice(b, varied::solves64, 200), choice(b, varied::leaf64, 4096)}) {
    CAPTURE(one.operation);
    CAPTURE(one.why);
    CHECK(one.why.empty());  // both were right
    CHECK(one.few_milliseconds > 0);
    CHECK(one.many_milliseconds > 0);
    if (one.few) CHECK(one.few_milliseconds < one.many_milliseconds);
    const bool solves = one.operation == varied::solves || one.operation == varied::solves64;
    if (!solves)
      CHECK(one.few == (one.few_milliseconds < one.many_milliseconds));
    else if (one.few)
      CHECK(one.least_vectors > 0);
  }
}

TEST_CASE("few right-hand sides are not worth a trial, nor an inverse", "[variants]") {
  Bench b;
  QueueWork work = lu;
  work.factors = false;
  work.solved_rows = 400;
  b.device->prepare(*b.queue, work);
  CHECK(b.device->variant_choices().empty());
  Factored f = test::factored(b, safe_matrix(b, 100));
  const std::size_t before = emulation::kernels_started();
  b.device->prepare_solves(*b.queue, Triangle::upper, f.block.view(), Precision::fp16, 400);
  CHECK(emulation::kernels_started() == before);
}

TEST_CASE("a small panel makes no trial, and no leaf at once", "[variants]") {
  Bench b;
  QueueWork work = panel;
  work.leaf_rows = 2;
  b.device->prepare(*b.queue, work);
  CHECK(b.device->variant_choices().empty());
  Doubles a = uniform<double>(b, 40, 8);
  DeviceMatrix<std::int64_t> pivots(b, 8, 1);
  Status status(b);
  CHECK_FALSE(b.device->factor_leaf(*b.queue, a.view(), 0, 8, 0, pivots.data(), status.data()));
  CHECK(a.unchanged());
}

TEST_CASE("a block of another order follows the next larger one that was tried", "[variants]") {
  Bench b;
  b.device->prepare(*b.queue, {.width = order, .purpose = Precision::fp16, .factors = true});
  b.device->prepare(*b.queue, {.width = 120, .purpose = Precision::fp16, .factors = true});
  for (const auto& [n, decides] :
       {std::pair{std::int64_t{90}, std::int64_t{120}}, {130, order}, {200, order}}) {
    Floats a = uniform<float>(b, n, n);
    a.set([&](std::int64_t i, std::int64_t j) { return a(i, j) + (i == j ? 40.0f : 0.0f); });
    const long before = emulation::calls_of("cudaMemsetAsync");
    CHECK(test::factored(b, std::move(a)).condition > 1);
    CHECK(emulation::calls_of("cudaMemsetAsync") - before ==
          (choice(b, varied::diagonal, decides).few ? 1 : 0));
  }
}

TEST_CASE("choices: nothing tried, few from some vectors on, and refused", "[variants]") {
  Variants all(7000);  // a GPU that nobody else has
  CHECK(all.few(varied::diagonal, 10));
  int trials = 0;
  const auto found = [&](bool few, std::int64_t least) {
    return [&trials, few, least] {
      ++trials;
      return VariantChoice{.few = few, .least_vectors = least};
    };
  };
  all.choose(varied::diagonal, 100, found(false, 0));
  all.choose(varied::diagonal, 100, found(true, 0));
  all.choose(varied::diagonal, 200, found(true, 0));
  all.choose(varied::diagonal, 300, found(false, 0));
  CHECK(trials == 3);
  for (const auto& [n, few] : {std::pair{50, false}, {100, false}, {101, true}, {900, false}})
    CHECK(all.few(varied::diagonal, n) == few);
  CHECK(all.few(varied::solves, 100));
  CHECK(all.few(varied::leaf32, 100));
  all.choose(varied::solves, 100, found(true, 37));
  CHECK(all.least_vectors(varied::solves, 64) == 37);
  all.refuse(varied::solves, "it grew");
  CHECK(all.least_vectors(varied::solves, 64) > 1000000000);
  CHECK(all.few(varied::diagonal, 200));
  REQUIRE(all.all().size() == 4);
  CHECK(all.all().back().why == "it grew");
  // Another device of this process on the same GPU has the trials, and not the refusal.
  Variants other(7000);
  CHECK(other.choose(varied::solves, 100, found(false, 0)).few);
  CHECK(trials == 4);
}
}  // namespace speedwell::test::variants_tests
