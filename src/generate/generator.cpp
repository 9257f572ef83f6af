// SPDX-License-Identifier: BSD-3-Clause
#include "generate/generator.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include <speedwell/error.hpp>

#include "core/expects.hpp"
#include "core/numbers.hpp"
#include "cpu/loops.hpp"

namespace speedwell {

namespace {

/// sum_{j < count} |1 - beta j|
double sum_of_distances(double count, double beta) {
  const double below = std::min(count, std::floor(1 / beta) + 1);  // terms with beta j <= 1
  const double above = count - below;
  return below * (1 - beta * (below - 1) / 2) + above * (beta * (below + count - 1) / 2 - 1);
}

}  // namespace

double fasi_higham_norm(std::int64_t n, double alpha, double beta) {
  SPEEDWELL_EXPECTS(alpha <= beta);
  // The sum of magnitudes in row i is alpha sum_{j<i} |1 - beta j| + (1 + alpha beta i) +
  // beta (n-1-i) |1 - alpha i|. As a function of i it is convex up to 1/beta, and from there to
  // 1/alpha; at both places it is below row 0's sum. After 1/alpha it grows. So the largest sum is
  // that of the first or of the last row.
  const auto last = static_cast<double>(n - 1);
  return std::max(1 + beta * last, alpha * sum_of_distances(last, beta) + 1 + alpha * last * beta);
}

double fasi_higham_inverse_norm(std::int64_t n, double alpha, double beta) {
  const auto steps = static_cast<double>(n - 1);
  const double last = std::exp(steps * std::log1p(alpha));
  if (beta == 0) return last;
  // The factor is beta (1+alpha) / (r-1) with r - 1 = alpha + beta + alpha beta. Both parts are
  // divided by beta, so that nothing overflows or cancels.
  const double factor = (1 + alpha) / (alpha / beta + 1 + alpha);
  const double first = 1 + factor * std::expm1(steps * (std::log1p(alpha) + std::log1p(beta)));
  return std::max(first, last);
}

double fasi_higham_beta(std::int64_t n, double kappa, double rho) {
  if (n < 1) throw UsageError("fasi-higham: n must be at least 1");
  if (!(kappa > 1 && std::isfinite(kappa)))
    throw UsageError("fasi-higham: kappa must be finite and above 1");
  if (!(rho > 0 && rho <= 1)) throw UsageError("fasi-higham: rho must be in (0, 1]");
  if (n == 1) return 0;

  // Both norms are at least 1 + beta, so beta is below sqrt(kappa).
  double low = std::numeric_limits<double>::min();
  double high = std::sqrt(kappa);
  for (;;) {
    const double middle = std::sqrt(low) * std::sqrt(high);
    if (!(low < middle && middle < high)) return high;
    const double reached = fasi_higham_norm(n, rho * middle, middle) *
                           fasi_higham_inverse_norm(n, rho * middle, middle);
    (reached < kappa ? low : high) = middle;
  }
}

namespace {

/// Diagonal entries [begin, end) of `dominant`, with the roundings of HPL-AI's reference: the
/// magnitudes of a whole row are summed in FP64 from left to right, and |u_ii| is then subtracted.
std::vector<double> dominant_diagonal(const MatrixSpec& spec, std::int64_t begin,
                                      std::int64_t end) {
  constexpr std::int64_t strip = 64;  // rows that one call sums
  const std::vector<double> x(static_cast<std::size_t>(spec.n));
  std::vector<double> diagonal(static_cast<std::size_t>(end - begin));
#pragma omp parallel for schedule(static)
  for (std::int64_t i = begin; i < end; i += strip) {
    const std::int64_t rows = std::min(strip, end - i);
    double* sums = diagonal.data() + (i - begin);
    double ax[strip] = {};
    loops().multiply(spec, i, rows, 0, spec.n, x.data(), {.ax = ax, .abs_rows = sums});
    for (std::int64_t r = 0; r < rows; ++r) sums[r] -= std::abs(spec.regular(i + r, i + r));
  }
  return diagonal;
}

/// All n diagonal entries of `dominant`, on every rank. Each rank computes a part of them.
std::vector<double> gathered_diagonal(const MatrixSpec& spec, const Communicator& all) {
  const auto first_row = [&](std::int64_t rank) {
    const std::int64_t share = ceil_div(spec.n, all.size());
    return std::min(spec.n, rank * share);
  };
  std::vector<std::int64_t> counts(static_cast<std::size_t>(all.size()));
  for (std::size_t r = 0; r < counts.size(); ++r) {
    const auto rank = static_cast<std::int64_t>(r);
    counts[r] = first_row(rank + 1) - first_row(rank);
  }
  const std::vector<double> mine =
      dominant_diagonal(spec, first_row(all.rank()), first_row(all.rank() + 1));
  std::vector<double> diagonal(static_cast<std::size_t>(spec.n));
  all.all_gather(mine, diagonal, counts);
  return diagonal;
}

}  // namespace

Generator::Generator(const BenchmarkOptions& options, const Communicator& all) {
  SPEEDWELL_EXPECTS(options.n >= 1);
  spec_.kind = options.matrix;
  spec_.n = options.n;
  spec_.seed = options.seed;
  switch (options.matrix) {
    case MatrixKind::scaled_diagonal:
      spec_.stride = options.n | 1;  // odd: even strides lose the state's low bits
      spec_.shift = std::sqrt(static_cast<double>(options.n));
      break;
    case MatrixKind::fasi_higham:
      spec_.beta = fasi_higham_beta(options.n, options.kappa, options.rho);
      spec_.alpha = options.rho * spec_.beta;
      break;
    case MatrixKind::hpl:
      spec_.stride = options.n;
      break;
    case MatrixKind::dominant:
      spec_.stride = options.n;
      diagonal_ = gathered_diagonal(spec_, all);
      spec_.diagonal = diagonal_.data();
      break;
  }
}

}  // namespace speedwell
