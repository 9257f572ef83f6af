// SPDX-License-Identifier: BSD-3-Clause
// Compares steps of a factorization on two queues that only events order with the same steps one
// after the other.
#include "device/bench.hpp"

namespace speedwell::test::chain_tests {
namespace {

constexpr std::int64_t order = 96;
constexpr std::int64_t size = 300;
constexpr std::size_t slots = 2;

// The input of one step.
struct Input {
  Floats diagonal;
  Floats left;
  Floats right;
};

std::vector<Input> inputs(Bench& b, int steps) {
  std::vector<Input> all;
  all.reserve(static_cast<std::size_t>(steps));
  for (int i = 0; i < steps; ++i)
    all.push_back({safe_matrix(b, order), uniform_matrix(b, size, order, 10),
                   uniform_matrix(b, order, size, 10)});
  return all;
}

// The memory of a panel, which later panels use again.
struct Slot {
  Slot(Bench& b, Precision precision)
      : diagonal(b, order, order),
        left(b, size, order),
        right(b, order, size),
        low_left(b, precision, size, order),
        low_right(b, precision, order, size) {}
  Floats diagonal;
  Floats left;
  Floats right;
  Low low_left;
  Low low_right;
  EventPtr read;  // after the update that reads the panel
};

struct Chain {
  Chain(Bench& bench, Precision wanted)
      : b(bench), precision(wanted), status(b), c(uniform_matrix(b, size, size)) {
    for (std::size_t i = 0; i < slots; ++i) ring.emplace_back(b, precision);
  }

  void panel(Queue& queue, const Input& from, Slot& s) {
    Device& d = *b.device;
    d.copy(queue, from.diagonal.view(), s.diagonal.view());
    d.copy(queue, from.left.view(), s.left.view());
    d.copy(queue, from.right.view(), s.right.view());
    d.factor_diagonal(queue, s.diagonal.view(), 0, status.data());
    d.solve_right_upper(queue, s.diagonal.view(), s.left.view(), precision, {});
    d.cast(queue, s.left.view(), 1, s.low_left.view(), s.low_left.control(), status.data());
    d.solve_left_lower(queue, s.diagonal.view(), s.right.view(), precision, {});
    d.cast(queue, s.right.view(), -1, s.low_right.view(), s.low_right.control(), status.data());
  }
  void update(Queue& queue, Slot& s) {
    b.device->update(queue, s.low_left.view(), s.low_left.control(), s.low_right.view(),
                     s.low_right.control(), c.view(), {});
  }

  Bench& b;
  Precision precision;
  Status status;
  Floats c;
  std::vector<Slot> ring;
};

Plain side_by_side(Bench& b, Chain& chain, const std::vector<Input>& steps) {
  const auto panels = b.device->make_queue(Priority::high);
  const auto updates = b.device->make_queue(Priority::normal);
  for (std::size_t k = 0; k < steps.size(); ++k) {
    Slot& s = chain.ring[k % slots];
    if (s.read) panels->wait(*s.read);
    chain.panel(*panels, steps[k], s);
    updates->wait(*panels->record());
    chain.update(*updates, s);
    s.read = updates->record();
  }
  panels->synchronize();
  updates->synchronize();
  REQUIRE(chain.c.frame_intact());
  return chain.c.plain();
}

Plain one_by_one(Bench& b, Chain& chain, const std::vector<Input>& steps) {
  for (std::size_t k = 0; k < steps.size(); ++k) {
    chain.panel(*b.queue, steps[k], chain.ring[k % slots]);
    b.queue->synchronize();
    chain.update(*b.queue, chain.ring[k % slots]);
    b.queue->synchronize();
  }
  REQUIRE(chain.c.frame_intact());
  return chain.c.plain();
}

}  // namespace

TEST_CASE("events alone keep panels and updates in order", "[chain]") {
  Bench b;
  for (const auto precision : precisions) {
    CAPTURE(name(precision));
    const std::vector<Input> steps = inputs(b, 12);
    Chain first(b, precision);
    Chain second(b, precision);
    second.c.set([&](std::int64_t i, std::int64_t j) { return first.c(i, j); });
    const Plain before = first.c.plain();
    const Plain expected = one_by_one(b, first, steps);
    const Plain c = side_by_side(b, second, steps);
    CHECK(first.status.get().bad_pivot == -1);
    CHECK(second.status.get().bad_pivot == -1);
    CHECK(second.status.get().nonfinite == 0);
    if (b.on_cpu()) {
      CHECK(c.data == expected.data);
      continue;
    }
    // The order of sums may differ between queues. A wrong panel would change the result by some
    // 1 / sqrt(12) of the whole change.
    double moved = 0;
    double difference = 0;
    for (std::size_t i = 0; i < c.data.size(); ++i) {
      moved = std::max(moved, std::fabs(expected.data[i] - before.data[i]));
      difference = std::max(difference, std::fabs(c.data[i] - expected.data[i]));
      if (std::isnan(c.data[i])) difference = HUGE_VAL;
    }
    CHECK(difference <= 0x1p-8 * moved);
  }
}
}  // namespace speedwell::test::chain_tests
