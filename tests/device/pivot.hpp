// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Helpers of the tests of pivoting: candidates in device memory, and random choices of rows.
#pragma once

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "device/bench.hpp"

namespace lupine::test {

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

// `count` different row indices below `rows`, in random order.
inline Indices some_rows(Bench& b, std::int64_t rows, std::int64_t count) {
  Indices all(static_cast<std::size_t>(rows));
  std::iota(all.begin(), all.end(), 0);
  std::shuffle(all.begin(), all.end(), b.random);
  all.resize(static_cast<std::size_t>(count));
  return all;
}

}  // namespace lupine::test
