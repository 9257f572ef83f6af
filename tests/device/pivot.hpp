// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Helpers of the tests of pivoting: candidates in device memory, and random choices of rows.
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "device/bench.hpp"

namespace speedwell::test {

template <class T>
inline constexpr T not_a_number = std::numeric_limits<T>::quiet_NaN();
template <class T>
inline constexpr T infinity = std::numeric_limits<T>::infinity();

using Shape = std::pair<std::int64_t, std::int64_t>;
using Indices = std::vector<std::int64_t>;

// One PivotCandidate in device memory.
class Candidate {
 public:
  explicit Candidate(Bench& b) : memory_(b, 1, 1) {}
  Candidate(Bench& b, const PivotCandidate& value) : Candidate(b) {
    memory_.set([&](std::int64_t, std::int64_t) { return value; });
  }
  PivotCandidate* data() const { return memory_.data(); }
  PivotCandidate get() {
    REQUIRE(memory_.frame_intact());
    return memory_(0);
  }
  bool unchanged() { return memory_.unchanged(); }

 private:
  DeviceMatrix<PivotCandidate> memory_;
};

// The magnitude by which an entry is a pivot: |re| + |im| of a complex one. Inf and NaN are
// infinite.
template <class T>
double pivot_magnitude(T value) {
  const T size = std::fabs(value);
  return std::isfinite(size) ? static_cast<double>(size) : HUGE_VAL;
}
template <class T>
double pivot_magnitude(std::complex<T> z) {
  return pivot_magnitude(std::fabs(z.real()) + std::fabs(z.imag()));
}

// The candidate that a search should find, by a plain loop over the rows.
template <class T>
PivotCandidate plain_pivot(const DeviceMatrix<T>& a, std::int64_t column) {
  PivotCandidate best;
  for (std::int64_t i = 0; i < a.rows(); ++i)
    if (const double here = pivot_magnitude(a(i, column)); here > best.magnitude) best = {here, i};
  return best;
}

inline bool same(const PivotCandidate& a, const PivotCandidate& b) {
  return a.magnitude == b.magnitude && a.row == b.row;
}

template <class T>
void check_search(Bench& b, DeviceMatrix<T>& column) {
  const PivotCandidate expected = plain_pivot(column, 0);
  Candidate found(b);
  b.device->find_pivot(*b.queue, column.view(), found.data());
  const PivotCandidate result = found.get();
  CAPTURE(column.rows(), expected.row, expected.magnitude, result.row, result.magnitude);
  CHECK(same(result, expected));
  CHECK(column.unchanged());
}

// `count` different row indices below `rows`, in random order.
inline Indices some_rows(Bench& b, std::int64_t rows, std::int64_t count) {
  Indices all(static_cast<std::size_t>(rows));
  std::iota(all.begin(), all.end(), 0);
  std::shuffle(all.begin(), all.end(), b.random);
  all.resize(static_cast<std::size_t>(count));
  return all;
}

}  // namespace speedwell::test
