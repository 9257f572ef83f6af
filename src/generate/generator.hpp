// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Makes a MatrixSpec from the options of a benchmark.
#pragma once

#include <speedwell/options.hpp>

#include <cstdint>
#include <vector>

#include "comm/communicator.hpp"
#include "element/matrix_spec.hpp"

namespace speedwell {

// The Fasi-Higham matrix is A = L U, with -alpha below the unit diagonal of L and -beta above the
// unit diagonal of U: see docs/numerics.md. The norms below are infinity norms, for alpha >= 0,
// beta >= 0 and n >= 1. Norms above FP64's range are infinity.

/// ||A^-1|| = max{ (1+alpha) [1/(1+alpha) + beta (1-r^(n-1))/(1-r)], (1+alpha)^(n-1) },
/// r = (1+alpha)(1+beta). Source: Fasi & Higham (2021), cited in element/matrix_spec.hpp.
double fasi_higham_inverse_norm(std::int64_t n, double alpha, double beta);
/// ||A||: the larger of the sums of magnitudes in the first and in the last row.
/// @pre alpha <= beta
double fasi_higham_norm(std::int64_t n, double alpha, double beta);
/// The beta for which ||A|| ||A^-1|| = kappa with alpha = rho beta. From n = 2 on, there is one for
/// every kappa. For n = 1 the condition number is always 1, and the result is 0.
/// @throws UsageError unless 1 < kappa < infinity, 0 < rho <= 1 and n >= 1
double fasi_higham_beta(std::int64_t n, double kappa, double rho);

/// Owns a MatrixSpec and, for `dominant`, the diagonal to which the spec points.
class Generator {
 public:
  /// Collective. All ranks get the same bits, for any number of ranks and threads.
  /// @pre n >= 1
  /// @throws UsageError as fasi_higham_beta does
  Generator(const BenchmarkOptions& options, const Communicator& all);
  Generator(Generator&&) = default;
  Generator& operator=(Generator&&) = default;
  Generator(const Generator&) = delete;
  Generator& operator=(const Generator&) = delete;

  /// A copy of the spec is valid as long as this generator, or the one that it was moved to,
  /// exists.
  const MatrixSpec& spec() const { return spec_; }

 private:
  std::vector<double> diagonal_;
  MatrixSpec spec_;
};

}  // namespace speedwell
