// SPDX-License-Identifier: BSD-3-Clause
#include "refine/residual_sketch.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "element/cyclic.hpp"

#include "core/random.hpp"
#include "refine/results.hpp"

namespace speedwell {

namespace {

double square(std::span<const double> v) {
  // Four sums side by side: one addition would have to wait for the one before.
  std::array<double, 4> sums{};
  for (std::size_t i = 0; i < v.size(); ++i) sums[i % 4] += v[i] * v[i];
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

}  // namespace

ResidualSketch::ResidualSketch(System& system, Device& device, std::uint64_t seed)
    : system_(system), device_(device), queue_(device.make_queue(Priority::normal)) {
  const Probes random(seed, ProbeUse::sketch);
  MultiVector w(system.b_part().local_size(), combinations);  // numbers of variance 1
  for (std::int64_t i = 0; i < w.size(); ++i) {
    const std::int64_t row = system.b_part().global(LocalIndex{i}).value;
    for (std::int64_t c = 0; c < combinations; ++c)
      w[c][static_cast<std::size_t>(i)] =
          std::sqrt(3.) * random.number(static_cast<std::uint64_t>(row * combinations + c));
  }
  const MultiVector projected = system.multiply_transposed(w);
  const double sum = system.x_space().others().all_reduce(square(projected.all()), Reduction::sum);
  norm_ = std::sqrt(sum / static_cast<double>(combinations));
  put(w, of_b_);
  put(projected, of_x_);
}

void ResidualSketch::put(const MultiVector& v, Buffer& memory) {
  const std::int64_t bytes = std::ssize(v.all()) * std::int64_t{sizeof(double)};
  device_.reserve(memory, bytes);
  device_.upload(*queue_, v.all(), memory.as<double>());
}

// -(onto)^T v, summed up over `ranks`.
MultiVector ResidualSketch::project(const Buffer& onto, const MultiVector& v,
                                    const Communicator& ranks) {
  const std::int64_t ld = std::max<std::int64_t>(v.size(), 1);
  MultiVector result(combinations, v.count());
  put(v, vectors_);
  put(result, results_);
  device_.subtract_product(
      *queue_, Transpose::yes,
      MatrixView<const double>{onto.as<double>(), v.size(), combinations, ld},
      MatrixView<const double>{vectors_.as<double>(), v.size(), v.count(), ld},
      MatrixView<double>{results_.as<double>(), combinations, v.count(), combinations});
  download_results(system_.grid().all(), device_, *queue_, results_.as<double>(), result.all());
  ranks.all_reduce(result.all(), Reduction::sum);
  return result;
}

ResidualSketch::Estimates ResidualSketch::estimate(const MultiVector& y, const MultiVector& b) {
  const VectorSpace x_space = system_.x_space();
  const VectorSpace b_space = system_.b_space();
  const Communicator& x_ranks = x_space.others();
  const Communicator& b_ranks = b_space.others();
  const MultiVector of_y = project(of_x_, y, x_ranks);
  const MultiVector of_b = project(of_b_, b, b_ranks);
  const auto squares = [](const MultiVector& v, const Communicator& ranks) {
    Vector sums;
    for (std::int64_t k = 0; k < v.count(); ++k) sums.push_back(square(v[k]));
    ranks.all_reduce(sums, Reduction::sum);
    return sums;
  };
  const Vector y_squares = squares(y, x_ranks);
  const Vector b_squares = squares(b, b_ranks);
  Estimates found;
  const auto finite = [](double value) {
    return std::isfinite(value) ? value : std::numeric_limits<double>::infinity();
  };
  for (std::int64_t k = 0; k < y.count(); ++k) {
    const auto i = static_cast<std::size_t>(k);
    double sum = 0;
    for (std::size_t s = 0; s < combinations; ++s) sum += std::pow(of_y[k][s] - of_b[k][s], 2);
    const double residual = std::sqrt(sum / static_cast<double>(combinations));
    const double size = norm_ * std::sqrt(y_squares[i]) + std::sqrt(b_squares[i]);
    found.residuals.push_back(finite(residual));
    // Beside a size that has overflowed any residual would be small.
    found.errors.push_back(residual == 0 ? 0
                                         : finite(std::isfinite(size) ? residual / size : size));
  }
  // Roundings differ between ranks; all of them decide by the same numbers.
  system_.grid().all().all_reduce(found.residuals, Reduction::max);
  system_.grid().all().all_reduce(found.errors, Reduction::max);
  return found;
}

}  // namespace speedwell
