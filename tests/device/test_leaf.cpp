// SPDX-License-Identifier: BSD-3-Clause
// A leaf of a panel with pivoting that a device factors at once: all bits are those of one column
// after the other.
#include <limits>
#include <vector>

#include "core/numbers.hpp"
#include "device/bench.hpp"

namespace speedwell::test::leaf_tests {
namespace {

/// A panel, its pivots and its status, factored in columns [begin, end).
template <class T>
struct Factored {
  Plain panel{0, 0};
  std::vector<std::int64_t> pivots;
  FactorStatus status;

  bool operator==(const Factored& other) const {
    return panel.data == other.panel.data && pivots == other.pivots &&
           status.bad_pivot == other.status.bad_pivot;
  }
};

constexpr std::int64_t first = 1000;

template <class T>
Factored<T> by_columns(Bench& b, const Plain& a, std::int64_t begin, std::int64_t end) {
  DeviceMatrix<T> panel(b, a.rows, a.columns);
  panel.set([&](std::int64_t i, std::int64_t j) { return static_cast<T>(a(i, j)); });
  DeviceMatrix<std::int64_t> pivots(b, end - begin, 1);
  DeviceMatrix<PivotCandidate> found(b, 1, 1);
  Status status(b);
  const AnyMatrix all = panel.view();
  const auto from = [&](std::int64_t i, std::int64_t j, std::int64_t columns) {
    return all.block(i, j, all.rows - i, columns);
  };
  b.device->find_pivot(*b.queue, from(0, begin, 1), found.data());
  for (std::int64_t j = begin; j < end; ++j) {
    const std::int64_t i = j - begin;
    b.device->take_pivot(*b.queue, from(i, 0, all.columns), first + i, found.data(), {},
                         pivots.data() + i, status.data());
    b.device->eliminate(*b.queue, all.block(i, j, 1, end - j), from(i + 1, j, end - j),
                        found.data());
  }
  pivots.get();
  CHECK(panel.frame_intact());
  Factored<T> result{panel.plain(), {}, status.get()};
  for (std::int64_t i = 0; i < end - begin; ++i) result.pivots.push_back(pivots(i));
  return result;
}

/// @return whether the device has a leaf of this size
template <class T>
bool at_once(Bench& b, const Plain& a, std::int64_t begin, std::int64_t end, Factored<T>& result) {
  DeviceMatrix<T> panel(b, a.rows, a.columns);
  panel.set([&](std::int64_t i, std::int64_t j) { return static_cast<T>(a(i, j)); });
  DeviceMatrix<std::int64_t> pivots(b, end - begin, 1);
  Status status(b);
  const bool done = b.device->factor_leaf(*b.queue, panel.view(), begin, end, first, pivots.data(),
                                          status.data());
  pivots.get();
  CHECK(pivots.frame_intact());
  CHECK(panel.frame_intact());
  if (!done) CHECK(panel.unchanged());
  result = {panel.plain(), {}, status.get()};
  CHECK(result.status.stuck == 0);
  for (std::int64_t i = 0; i < end - begin; ++i) result.pivots.push_back(pivots(i));
  return done;
}

template <class T>
void check(Bench& b, const Plain& a, std::int64_t begin, std::int64_t end, bool must) {
  CAPTURE(a.rows, a.columns, begin, end, name(precision_of<T>));
  Factored<T> found;
  const bool done = at_once(b, a, begin, end, found);
  if (must && b.device->kind() == DeviceKind::cuda) CHECK(done);
  if (done) CHECK((found == by_columns<T>(b, a, begin, end)));
}

Plain random_panel(Bench& b, std::int64_t rows, std::int64_t columns) {
  return uniform<double>(b, rows, columns).plain();
}

}  // namespace

TEST_CASE("a leaf at once has the bits of one column after the other", "[panel]") {
  Bench b;
  struct Case {
    std::int64_t rows, columns, begin, end;
  };
  for (const Case c :
       {Case{1, 1, 0, 1}, Case{7, 3, 0, 3}, Case{40, 40, 8, 40}, Case{33, 70, 20, 52},
        Case{200, 20, 3, 12}, Case{300, 64, 32, 64}, Case{601, 48, 16, 40}}) {
    const Plain a = random_panel(b, c.rows, c.columns);
    check<double>(b, a, c.begin, c.end, true);
    check<float>(b, a, c.begin, c.end, true);
  }
}

TEST_CASE("a leaf at once takes the first of equal pivots, and names a bad one", "[panel]") {
  Bench b;
  Plain ties = random_panel(b, 150, 24);
  for (double& value : ties.data) value = value < 0 ? -1 : 1;
  check<double>(b, ties, 0, 16, true);
  check<float>(b, ties, 4, 24, true);
  for (const double bad :
       {0.0, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    Plain a = random_panel(b, 90, 20);
    for (std::int64_t i = 0; i < a.rows; ++i) a(i, 11) = bad;
    Factored<double> found;
    if (!at_once(b, a, 2, 20, found)) continue;
    CAPTURE(bad);
    CHECK(found.status.bad_pivot == first + 9);
    CHECK(found.pivots == by_columns<double>(b, a, 2, 20).pivots);
  }
}

TEST_CASE("a leaf that does not fit stays as it is", "[panel]") {
  Bench b;
  check<double>(b, random_panel(b, 50, 40), 0, 40, false);  // too many columns
  check<float>(b, random_panel(b, 9000, 4), 0, 4, false);   // too many rows for some GPUs
}
}  // namespace speedwell::test::leaf_tests
