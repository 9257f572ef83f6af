// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Checks the solutions of speedwell::solve.
#pragma once

#include <speedwell/matrix.hpp>
#include <speedwell/solution.hpp>

#include <functional>
#include <span>
#include <vector>

#include "gallery.hpp"
#include "lapack.hpp"
#include "pipeline.hpp"
#include "quad.hpp"

namespace speedwell::test {

/// The largest order of the tests. Emulated GPUs get small ones: they take a second where a CPU
/// takes a millisecond.
inline std::int64_t largest_order() {
  return device_choice().device == DeviceKind::cuda ? 21 : 150;
}

SolveOptions solve_options(GridShape shape, std::int64_t nb,
                           Precision precision = Precision::automatic);

/// A and b as arrays on rank 0, so that rank 0 gets x.
inline Matrix given(const Square& a) {
  return Matrix::dense(a.n, a.data.data(), a.n);
}
inline RightHandSide given(const Plain& b) {
  return RightHandSide::dense(b.columns, b.data.data(), b.rows);
}

/// The solution that `work` returns, which must have converged, or the best one of the
/// AccuracyError that it throws.
Solution best_of(const std::function<Solution()>& work);

/// Properties of A x = b that are computed without Speedwell.
class Reference {
 public:
  explicit Reference(const Example& e);

  /// CHECKs that the errors which the solution reports are true and that, if it converged, it is as
  /// accurate as LAPACK's solution.
  void judge(const Solution& solution, const SolveOptions& options) const;

  /// The condition number of A, scaled if the options ask for that.
  double condition(const SolveOptions& options) const;
  /// The growth of the entries of A in FP64 elimination.
  double growth() const { return 1 / dgesvx_.pivot_growth; }

 private:
  void judge_column(const Solution& solution, std::int64_t k, double tolerance,
                    const SolveOptions& options) const;
  void judge_bound(const SolveColumn& said, std::span<const double> x, std::int64_t k,
                   const SolveOptions& options) const;

  const Example& e_;
  Inverse inverse_;
  std::vector<BackwardErrors> dgesv_;
  LapackExpert dgesvx_;
};

}  // namespace speedwell::test
