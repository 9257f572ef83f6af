// SPDX-License-Identifier: BSD-3-Clause
// Diagonal blocks without pivoting: by one kernel, or by halves. Which of them is faster on this
// GPU, a trial says before the first run; or the user does.
#include <fmt/format.h>
#include <lupine/error.hpp>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "device/cuda/blas.hpp"
#include "device/cuda/check.hpp"
#include "device/cuda/cuda_device.hpp"

namespace lupine {

namespace {

// The order of the first part of a matrix of order n > m that is split in two: the largest m 2^k
// below n, so that this part consists of whole blocks of each smaller size.
std::int64_t cut(std::int64_t n, std::int64_t m) {
  while (2 * m < n) m *= 2;
  return m;
}

constexpr const char* variable = "LUPINE_DIAGONAL_BLOCKS";

// What the user has chosen: true for one kernel.
std::optional<bool> read_choice() {
  const char* const name = std::getenv(variable);
  if (name == nullptr) return std::nullopt;
  const std::string_view given(name);
  if (given != "one-kernel" && given != "halves")
    throw UsageError(fmt::format("{} '{}'; allowed: halves, one-kernel", variable, given));
  return given == "one-kernel";
}

const std::optional<bool>& users_choice() {
  static const std::optional<bool> choice = read_choice();
  return choice;
}

// A block of the benchmark's matrix scaled-diagonal, whose factors grow little.
MatrixSpec trial_matrix(std::int64_t n) {
  MatrixSpec spec;
  spec.n = n;
  spec.stride = n | 1;
  spec.shift = std::sqrt(static_cast<double>(n));
  return spec;
}

/// The choices of this process, by GPU and order: a trial takes as long as some runs of small n.
class Choices {
 public:
  std::optional<DiagonalChoice> find(int gpu, std::int64_t n) {
    const std::lock_guard lock(mutex_);
    const auto known = of_.find({gpu, n});
    return known != of_.end() ? std::optional(known->second) : std::nullopt;
  }
  /// @return the choice; another thread's where that was earlier
  DiagonalChoice add(int gpu, const DiagonalChoice& choice) {
    const std::lock_guard lock(mutex_);
    return of_.emplace(std::pair(gpu, choice.order), choice).first->second;
  }

 private:
  std::mutex mutex_;
  std::map<std::pair<int, std::int64_t>, DiagonalChoice> of_;
};

Choices& choices() {
  static Choices all;
  return all;
}

// The largest difference of two matrices, as a part of the largest number of the first; infinity
// where there is a NaN.
double difference(const std::vector<float>& a, const std::vector<float>& b) {
  float largest = 0;
  float most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    largest = std::max(largest, std::fabs(a[i]));
    const float here = std::fabs(a[i] - b[i]);
    if (std::isnan(here)) return std::numeric_limits<double>::infinity();
    most = std::max(most, here);
  }
  return most == 0 ? 0 : most / largest;
}

}  // namespace

void CudaDevice::factor_diagonal(Queue& queue, MatrixView<float> a, std::int64_t begin,
                                 FactorStatus* status) {
  Lane& l = lane(queue);
  // The last block of a matrix may be smaller than those of the trial: the next larger order
  // counts.
  const auto tried = std::ranges::lower_bound(diagonals_, a.rows, {}, &DiagonalChoice::order);
  const bool measured = tried != diagonals_.end() && tried->one_kernel;
  users_choice().value_or(measured) ? factor_at_once(l, a, begin, status)
                                    : factor(l, a, begin, status);
}

void CudaDevice::factor_at_once(Lane& l, MatrixView<float> a, std::int64_t begin,
                                FactorStatus* status) {
  const int panel = panel_multiprocessors(panel_part_);
  const int free = panel > 0 ? panel : properties_.multiProcessorCount;
  check(cuda::factor_block(l.stream(), a, begin, cuda::factor_blocks_at_once * free,
                           l.scratch(cuda::factor_block_scratch(a.rows)), &status->bad_pivot,
                           &status->stuck),
        "factor_block");
}

// [ A11 A12 ]   [ L11     ] [ U11 U12 ]
// [ A21 A22 ] = [ L21 L22 ] [     U22 ], by halves.
void CudaDevice::factor(Lane& l, MatrixView<float> a, std::int64_t begin, FactorStatus* status) {
  const std::int64_t n = a.rows;
  if (n <= cuda::tile_order)
    return check(cuda::factor_tile(l.stream(), a, begin, &status->bad_pivot), "factor_tile");
  const std::int64_t h = cut(n, cuda::tile_order);
  const MatrixView<float> a11 = a.block(0, 0, h, h);
  const MatrixView<float> a12 = a.block(0, h, h, n - h);
  const MatrixView<float> a21 = a.block(h, 0, n - h, h);
  const MatrixView<float> a22 = a.block(h, h, n - h, n - h);
  factor(l, a11, begin, status);
  solve_exactly(l, Triangle::unit_lower, a11, a12);  // U12 = L11^-1 A12
  solve_exactly(l, Triangle::upper, a11, a21);       // L21 = A21 U11^-1
  products_->multiply(l, Reading::fp32, -1, factor_of(a21), factor_of(a12), 1, a22);
  factor(l, a22, begin + h, status);
  if (n <= cuda::triangle_order) combine_inverses(l, a, h);
}

// Inverts all tiles at once, and then larger and larger blocks. FP64 and complex solves read L\U
// itself.
void CudaDevice::prepare_diagonal(Queue& queue, AnyMatrix lu) {
  if (lu.precision == Precision::fp64 || lu.field == Field::complex || lu.empty()) return;
  Lane& l = lane(queue);
  const MatrixView<float> a = lu.as<float>();
  check(cuda::invert_tiles(l.stream(), a), "invert_tiles");
  for (std::int64_t s = 0; s < a.rows; s += cuda::triangle_order) {
    const std::int64_t w = std::min(cuda::triangle_order, a.rows - s);
    invert(l, a.block(s, s, w, w));
  }
}

// Inverts the triangles of `a`, whose tiles have been inverted before.
void CudaDevice::invert(Lane& l, MatrixView<float> a) {
  if (a.rows <= cuda::tile_order) return;
  const std::int64_t h = cut(a.rows, cuda::tile_order);
  invert(l, a.block(0, 0, h, h));
  invert(l, a.block(h, h, a.rows - h, a.rows - h));
  combine_inverses(l, a, h);
}

// The blocks off the diagonal: -L22^-1 L21 L11^-1 of L^-1, and -U11^-1 U12 U22^-1 of U^-1.
void CudaDevice::combine_inverses(Lane& l, MatrixView<float> a, std::int64_t h) {
  const std::int64_t rest = a.rows - h;
  const MatrixView<float> first = a.block(0, 0, h, h);
  const MatrixView<float> second = a.block(h, h, rest, rest);
  const MatrixView<float> lower = a.block(h, 0, rest, h);
  const MatrixView<float> upper = a.block(0, h, h, rest);
  triangle_product(l, CUBLAS_SIDE_LEFT, Triangle::unit_lower, -1, second, lower);
  triangle_product(l, CUBLAS_SIDE_RIGHT, Triangle::unit_lower, 1, first, lower);
  triangle_product(l, CUBLAS_SIDE_LEFT, Triangle::upper, -1, first, upper);
  triangle_product(l, CUBLAS_SIDE_RIGHT, Triangle::upper, 1, second, upper);
}

// Times both ways on a block of this order, once for each order. The kernel must be right: its
// factors are those of the halves but for rounding errors, and it has not waited for ever.
std::int64_t CudaDevice::prepare_factors(Queue& queue, std::int64_t n) {
  if (n <= cuda::tile_order) return 0;
  auto chosen = std::ranges::lower_bound(diagonals_, n, {}, &DiagonalChoice::order);
  if (chosen == diagonals_.end() || chosen->order != n) {
    // No lock during a trial: the ranks of a simulated machine are threads that wait for each
    // other.
    std::optional<DiagonalChoice> choice = choices().find(gpu_, n);
    if (!choice) choice = choices().add(gpu_, try_diagonal(queue, n));
    chosen = diagonals_.insert(chosen, *choice);
  }
  return chosen->one_kernel ? cuda::factor_block_scratch(n) : 0;
}

DiagonalChoice CudaDevice::try_diagonal(Queue& queue, std::int64_t n) {
  if (const auto& chosen = users_choice())
    return {.order = n, .one_kernel = *chosen, .why = variable};
  constexpr int tries = 3;  // the first one of each loads kernels, and chooses products
  constexpr double rounding = 1e-4;
  DiagonalChoice choice{.order = n};
  Lane& l = lane(queue);
  Buffer memory;
  try {
    memory = allocate(2 * n * n * std::int64_t{sizeof(float)} + std::int64_t{sizeof(FactorStatus)});
    l.scratch(cuda::factor_block_scratch(n));
  } catch (const Fault&) {
    choice.why = "no memory for a trial";
    return choice;
  }
  const MatrixView<float> a{memory.as<float>(), n, n, n};
  const MatrixView<float> lu{a.data + n * n, n, n, n};
  auto* const status = reinterpret_cast<FactorStatus*>(lu.data + n * n);
  const Distribution all(n, n, 1, 0);
  generate(queue, trial_matrix(n), all, all, a);
  upload(queue, std::vector<FactorStatus>(1), status);
  std::vector<float> halves(static_cast<std::size_t>(n * n));
  std::vector<float> at_once(halves.size());
  for (int time = 0; time < tries; ++time)
    for (const bool one_kernel : {false, true}) {
      copy(queue, a, lu);
      const EventPtr begin = queue.record();
      one_kernel ? factor_at_once(l, lu, 0, status) : factor(l, lu, 0, status);
      const EventPtr end = queue.record();
      end->wait();
      const double milliseconds = 1e3 * end->seconds_since(*begin);
      double& best = one_kernel ? choice.kernel_milliseconds : choice.halves_milliseconds;
      best = time < 2 ? milliseconds : std::min(best, milliseconds);
      if (time == 0) download(queue, lu.data, one_kernel ? at_once : halves);
    }
  FactorStatus found;
  download(queue, status, std::span(&found, 1));
  const double off = difference(halves, at_once);
  if (found.stuck != 0)
    choice.why = "blocks of threads waited for ever";
  else if (found.bad_pivot >= 0 || !(off <= rounding))
    choice.why = fmt::format("its factors differ by {:.1e}", off);
  else
    choice.one_kernel = choice.kernel_milliseconds < choice.halves_milliseconds;
  return choice;
}

}  // namespace lupine
