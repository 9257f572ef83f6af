// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Solutions of lupine::solve, judged.
#pragma once

#include <lupine/solve.hpp>

#include <functional>
#include <span>
#include <vector>

#include "gallery.hpp"
#include "lapack.hpp"
#include "pipeline.hpp"
#include "quad.hpp"

namespace lupine::test {

/// The largest order that is tried: emulated GPUs take a second where a processor takes a
/// millisecond.
inline std::int64_t largest_order() {
  return device_choice().device == DeviceKind::cuda ? 21 : 150;
}

SolveOptions solve_options(GridShape shape, std::int64_t nb,
                           Precision precision = Precision::automatic);

/// All on rank 0, as x is.
inline Matrix given(const Square& a) {
  return Matrix::dense(a.n, a.data.data(), a.n);
}
inline RightHandSide given(const Plain& b) {
  return RightHandSide::dense(b.columns, b.data.data(), b.rows);
}

/// What `work` returns, which must have converged, or the best of its AccuracyError.
Solution best_of(const std::function<Solution()>& work);

/// What is known of A x = b without Lupine.
class Reference {
 public:
  explicit Reference(const Example& e);

  /// CHECKs that the solution is as good as it says, and, where it says that it converged, as good
  /// as LAPACK's.
  void judge(const Solution& solution, const SolveOptions& options) const;

  /// Of A as the options have it scaled.
  double condition(const SolveOptions& options) const;
  /// How many times larger elimination makes A in FP64.
  double growth() const { return 1 / dgesvx_.pivot_growth; }

 private:
  void judge_column(const Solution& solution, std::int64_t k, double tolerance) const;
  void judge_bound(const SolveColumn& said, std::span<const double> x, std::int64_t k) const;

  const Example& e_;
  Inverse inverse_;
  std::vector<BackwardErrors> dgesv_;
  LapackExpert dgesvx_;
};

}  // namespace lupine::test
