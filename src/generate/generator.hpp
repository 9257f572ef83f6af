// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// From the benchmark's names and parameters to a MatrixSpec.
#pragma once

#include <lupine/options.hpp>

#include <cstdint>
#include <vector>

#include "comm/communicator.hpp"
#include "element/matrix_spec.hpp"

namespace lupine {

// Fasi-Higham: A = L U, -alpha below the unit diagonal of L, -beta above that of U. The norms below
// are infinity norms, for alpha, beta >= 0 and n >= 1; they overflow to infinity.

/// ||A^-1|| = max{ (1+alpha) [1/(1+alpha) + beta (1-r^(n-1))/(1-r)], (1+alpha)^(n-1) },
/// r = (1+alpha)(1+beta): Fasi & Higham (2021), see element/matrix_spec.hpp.
double fasi_higham_inverse_norm(std::int64_t n, double alpha, double beta);
/// ||A||, the larger of the sums of the first and the last row. @pre alpha <= beta
double fasi_higham_norm(std::int64_t n, double alpha, double beta);
/// beta with ||A|| ||A^-1|| = kappa, alpha = rho beta. 0 for n = 1: whatever beta is, the condition
/// number of a 1 x 1 matrix is 1.
/// @throws UsageError unless 1 < kappa < infinity, 0 < rho <= 1 and n >= 1; any such kappa can be
///         reached from n = 2 on.
double fasi_higham_beta(std::int64_t n, double kappa, double rho);

/// A spec together with the diagonal that `dominant` needs, to which it points.
class Generator {
 public:
  /// Collective. The same bits for any number of ranks and threads.
  /// @pre n >= 1
  /// @throws UsageError as fasi_higham_beta does
  Generator(const BenchmarkOptions& options, const Communicator& all);
  Generator(Generator&&) = default;
  Generator& operator=(Generator&&) = default;
  Generator(const Generator&) = delete;
  Generator& operator=(const Generator&) = delete;

  /// Valid as long as this generator, or the one that it was moved to, lives.
  const MatrixSpec& spec() const { return spec_; }

 private:
  std::vector<double> diagonal_;
  MatrixSpec spec_;
};

}  // namespace lupine
