// SPDX-License-Identifier: BSD-3-Clause
// Trials before the first run: of each operation that has two variants, both compute the same, and
// the faster one is taken, if the variant of few kernels is right.
#include <fmt/format.h>
#include <speedwell/error.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "device/cuda/check.hpp"
#include "device/cuda/cuda_device.hpp"

namespace speedwell {

namespace {

// What rounding may do to the results of a trial.
constexpr double rounded_solves = 0x1p-7;
constexpr double rounded_factors = 1e-4;
constexpr double rounded_solves64 = 1e-11;
// Right-hand sides of a trial, of 16 bits and in FP64: more would take longer and say the same.
constexpr std::int64_t tried_vectors = 4096;
constexpr std::int64_t tried_vectors64 = 8192;
// Right-hand sides from which an LU makes a trial: with fewer, that takes longer than inverses
// could save, and its solves make none. At n = 16384 the trial in FP64 and what inverses save are
// some 10 ms each, by the rates of an H200.
constexpr std::int64_t least_vectors = 4096;
constexpr std::int64_t least_vectors64 = 16384;
// Right-hand sides of which results are compared.
constexpr std::int64_t compared_vectors = 512;
// Rows of a leaf in a trial: so many, or a power of 4 times as many. A panel of fewer rows than the
// least makes no trial, which would take longer than all leaves of its LU, and factors its leaves
// column by column.
constexpr std::int64_t leaf_rows = 4096;
constexpr std::int64_t least_leaf_rows = 1024;
// Rounding errors of a solve with a whole inverse grow by the norms of its columns (0.3 of
// HPL-MxP's matrices): beyond this, strips are better.
constexpr float most_growth = 2;
// In FP64, where blocks of order 128 are inverted and products have 53 bits.
constexpr float most_growth64 = 1000;

// The benchmark's matrix scaled-diagonal, whose factors grow little, or one without its shift.
MatrixSpec trial_matrix(std::int64_t n, bool shifted) {
  MatrixSpec spec;
  spec.n = n;
  spec.stride = n | 1;
  spec.shift = shifted ? std::sqrt(static_cast<double>(n)) : 0;
  return spec;
}

// The largest difference of two matrices, as a part of the largest number of the first; 0 if all
// bits are equal, else infinity where there is a NaN.
template <class T>
double difference(const std::vector<T>& a, const std::vector<T>& b) {
  if (std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0) return 0;
  T largest = 0;
  T most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    largest = std::max(largest, std::fabs(a[i]));
    const T here = std::fabs(a[i] - b[i]);
    if (std::isnan(here)) return std::numeric_limits<double>::infinity();
    most = std::max(most, here);
  }
  return most / largest;
}

// Divides the memory of a trial.
class Parts {
 public:
  explicit Parts(std::byte* at) : at_(at) {}
  template <class T>
  MatrixView<T> matrix(std::int64_t rows, std::int64_t columns) {
    const MatrixView<T> view{reinterpret_cast<T*>(at_), rows, columns, rows};
    at_ += round_up(rows * columns * std::int64_t{sizeof(T)}, 256);
    return view;
  }
  static std::int64_t bytes(std::int64_t rows, std::int64_t columns, std::int64_t element) {
    return round_up(rows * columns * element, 256);
  }

 private:
  std::byte* at_;
};

}  // namespace

// The fastest of some runs of each, in milliseconds, in turns. The first ones load kernels and
// choose products.
std::vector<double> CudaDevice::time_in_turns(Queue& queue, const std::function<void()>& operands,
                                              const std::vector<std::function<void()>>& runs) {
  constexpr int tries = 3;
  std::vector<double> best(runs.size(), std::numeric_limits<double>::infinity());
  for (int time = 0; time < tries; ++time)
    for (std::size_t i = 0; i < runs.size(); ++i) {
      operands();
      const EventPtr begin = queue.record();
      runs[i]();
      const EventPtr end = queue.record();
      end->wait();
      if (time > 0) best[i] = std::min(best[i], 1e3 * end->seconds_since(*begin));
    }
  return best;
}

VariantChoice CudaDevice::try_both(Queue& queue, const Trial& trial, FactorStatus* status) {
  upload(queue, std::vector<FactorStatus>(1), status);
  const auto compare = [&]<class T>(MatrixView<const T> result) {
    const auto of = [&](const std::function<void()>& run) {
      std::vector<T> found(static_cast<std::size_t>(result.rows * result.columns));
      trial.operands();
      run();
      download(queue, result.data, found);
      return found;
    };
    return difference(of(trial.many), of(trial.few));
  };
  const double off = trial.result.precision == Precision::fp64 ? compare(trial.result.as<double>())
                                                               : compare(trial.result.as<float>());
  const std::vector<double> times = time_in_turns(queue, trial.operands, {trial.few, trial.many});
  FactorStatus found;
  download(queue, status, std::span(&found, 1));
  VariantChoice choice{.few_milliseconds = times[0], .many_milliseconds = times[1]};
  if (found.stuck != 0)
    choice.why = "blocks of threads waited for ever";
  else if (found.bad_pivot >= 0 || !(off <= trial.rounding))
    choice.why = fmt::format("results of few kernels differ by {:.1e}", off);
  else
    choice.few = choice.few_milliseconds < choice.many_milliseconds;
  return choice;
}

// Memory for a trial, or nothing: then the variant that has been measured before is taken.
Buffer CudaDevice::trial_memory(Lane& lane, std::int64_t bytes, std::int64_t scratch) {
  try {
    lane.scratch(scratch);
    return allocate(round_up(sizeof(FactorStatus), 256) + bytes);
  } catch (const Fault&) {
    return {};
  }
}

std::int64_t CudaDevice::prepare_factors(Queue& queue, std::int64_t n) {
  if (n <= cuda::tile_order) return 0;
  const auto trial = [&] { return try_diagonal(queue, n); };
  variants_.choose(varied::diagonal, n, trial);
  return cuda::factor_block_scratch(n);  // the last block has another order, for which few may do
}

VariantChoice CudaDevice::try_diagonal(Queue& queue, std::int64_t n) {
  Lane& l = lane(queue);
  const std::int64_t block = Parts::bytes(n, n, sizeof(float));
  const Buffer memory = trial_memory(l, 2 * block, cuda::factor_block_scratch(n));
  if (memory.bytes() == 0) return {.why = "no memory for a trial"};
  Parts parts(memory.data());
  auto* const status = parts.matrix<FactorStatus>(1, 1).data;
  const auto a = parts.matrix<float>(n, n);
  const auto lu = parts.matrix<float>(n, n);
  const Distribution all(n, n, 1, 0);
  generate(queue, trial_matrix(n, true), all, all, a);
  return try_both(queue,
                  {.operands = [&] { copy(queue, a, lu); },
                   .few = [&] { factor_at_once(l, lu, 0, status); },
                   .many = [&] { factor(l, lu, 0, status); },
                   .result = lu,
                   .rounding = rounded_factors},
                  status);
}

// Reserves what solves need whose result is rounded to 16 bits.
std::int64_t CudaDevice::prepare_solvers(Queue& queue, const QueueWork& work) {
  Lane& l = lane(queue);
  const std::int64_t n = work.width;
  const std::int64_t vectors = std::max(work.solved_rows, work.solved_columns);
  if (work.inverts && (Variants::by_user() || vectors >= least_vectors)) {
    judge_inverses(l, Precision::fp32);
    variants_.choose(varied::solves, n, [&] { return try_solves(queue, n); });
    l.inverted_from = least_inverted(Precision::fp32, n);
  }
  std::int64_t most = std::max(
      solve_scratch(Triangle::upper, n, std::min(work.solved_rows, l.inverted_from)),
      solve_scratch(Triangle::unit_lower, n, std::min(work.solved_columns, l.inverted_from)));
  if (l.inverted_from <= vectors) {
    for (const Triangle triangle : {Triangle::unit_lower, Triangle::upper})
      l.reserve_inverse(triangle, n);
    most = std::max(most, inverse_scratch(n));
  }
  return most;
}

// Solves of m vectors with an inverse that `invert` makes once for all of them, which pays off from
// so many vectors on.
VariantChoice CudaDevice::try_inverses(Queue& queue, const Trial& trial,
                                       const std::function<void()>& invert, std::int64_t m,
                                       FactorStatus* status) {
  invert();
  VariantChoice choice = try_both(queue, trial, status);
  if (!choice.few) return choice;
  const double once = time_in_turns(queue, [] {}, {invert})[0];
  const double saved = choice.many_milliseconds - choice.few_milliseconds;
  choice.least_vectors =
      static_cast<std::int64_t>(std::ceil(once / saved * static_cast<double>(m)));
  return choice;
}

VariantChoice CudaDevice::try_solves(Queue& queue, std::int64_t n) {
  Lane& l = lane(queue);
  constexpr std::int64_t m = tried_vectors;
  const Buffer memory =
      trial_memory(l,
                   Parts::bytes(n, n, sizeof(float)) + 2 * Parts::bytes(m, n, sizeof(float)) +
                       Parts::bytes(m, n, sizeof(Half)),
                   std::max(inverse_scratch(n), solve_scratch(Triangle::upper, n, m)));
  if (memory.bytes() == 0) return {.why = "no memory for a trial"};
  Parts parts(memory.data());
  auto* const status = parts.matrix<FactorStatus>(1, 1).data;
  const auto lu = parts.matrix<float>(n, n);
  const auto b = parts.matrix<float>(m, n);
  const auto x = parts.matrix<float>(m, n);
  const auto room = parts.matrix<Half>(m, n);
  const Distribution all(n, n, 1, 0);
  generate(queue, trial_matrix(n, true), all, all, lu);
  generate(queue, trial_matrix(std::max(m, n), false), Distribution(m, m, 1, 0), all, b);
  factor_diagonal(queue, lu, 0, status);
  return try_inverses(
      queue,
      {.operands = [&] { copy(queue, b, x); },
       .few = [&] { solve_by_inverse(l, Triangle::upper, x, room); },
       .many = [&] { solve_rounded(l, Triangle::upper, lu, x); },
       .result = x,
       .rounding = rounded_solves},
      [&] { make_inverse(queue, Triangle::upper, lu); }, m, status);
}

// Solves in FP64 take inverses where the kernel that makes them has room.
void CudaDevice::prepare_blocks(Queue& queue, std::int64_t n, std::int64_t vectors) {
  Lane& l = lane(queue);
  if (!inverts_blocks() || (!Variants::by_user() && vectors < least_vectors64)) return;
  judge_inverses(l, Precision::fp64);
  variants_.choose(varied::solves64, n, [&] { return try_blocks(queue, n); });
  l.inverted_from = least_inverted(Precision::fp64, n);
  if (l.inverted_from <= vectors) l.reserve_blocks(n);
}

VariantChoice CudaDevice::try_blocks(Queue& queue, std::int64_t n) {
  Lane& l = lane(queue);
  constexpr std::int64_t m = tried_vectors64;
  const std::int64_t right = Parts::bytes(n, m, sizeof(double));
  const Buffer memory = trial_memory(l, 3 * Parts::bytes(n, n, sizeof(float)) + 3 * right, 0);
  if (memory.bytes() == 0) return {.why = "no memory for a trial"};
  Parts parts(memory.data());
  auto* const status = parts.matrix<FactorStatus>(1, 1).data;
  const auto single = parts.matrix<float>(n, n);
  const auto lu = parts.matrix<double>(n, n);
  const auto b = parts.matrix<double>(n, m);
  const auto x = parts.matrix<double>(n, m);
  const auto room = parts.matrix<double>(n, m);
  const Distribution all(n, n, 1, 0);
  generate(queue, trial_matrix(n, true), all, all, single);
  factor_diagonal(queue, single, 0, status);
  check(cuda::convert(l.stream(), single, lu), "convert");  // numbers as small as those of an L
  generate(queue, trial_matrix(std::max(m, n), false), all, Distribution(m, m, 1, 0), b);
  return try_inverses(
      queue,
      {.operands = [&] { copy(queue, b, x); },
       .few = [&] { solve_by_blocks(queue, lu, x, room); },
       .many = [&] { solve_unit_lower(queue, lu, x); },
       .result = x.block(0, 0, n, compared_vectors),
       .rounding = rounded_solves64},
      [&] { make_blocks(l, lu); }, m, status);
}

// Of the factorization before: read between two of them, so that the choice of solves does not
// depend on what the GPU has done when.
void CudaDevice::judge_inverses(Lane& l, Precision triangle) {
  const bool wide = triangle == Precision::fp64;
  const std::uint32_t* const word = wide ? &l.words()->growth64 : &l.words()->growth;
  std::uint32_t bits = 0;
  check(cudaMemcpyAsync(&bits, word, sizeof bits, cudaMemcpyDeviceToHost, l.stream()),
        "cudaMemcpyAsync");
  check(cudaStreamSynchronize(l.stream()), "cudaStreamSynchronize");
  const auto growth = std::bit_cast<float>(bits);
  bool& grown = wide ? grown64_ : grown_;
  if (growth <= (wide ? most_growth64 : most_growth) || grown) return;
  grown = true;
  variants_.refuse(wide ? varied::solves64 : varied::solves,
                   fmt::format("an inverse grew by {:.2g}", growth));
}

std::int64_t CudaDevice::prepare_leaves(Queue& queue, Precision precision, std::int64_t rows) {
  const bool wide = precision == Precision::fp64;
  Lane& l = lane(queue);
  l.leaves = Variants::by_user() || rows >= least_leaf_rows;
  if (!l.leaves) return 0;
  std::int64_t size = leaf_rows;
  while (size < rows) size *= 4;
  const auto trial = [&] {
    return wide ? try_leaf<double>(queue, size) : try_leaf<float>(queue, size);
  };
  variants_.choose(wide ? varied::leaf64 : varied::leaf32, size, trial);
  return leaf_scratch();
}

template <class T>
VariantChoice CudaDevice::try_leaf(Queue& queue, std::int64_t rows) {
  constexpr std::int64_t w = cuda::leaf_columns;
  Lane& l = lane(queue);
  const cuda::LeafRoom room{properties().multiProcessorCount, properties().sharedMemPerBlockOptin};
  const auto fits = [&](std::int64_t m) {
    return cuda::leaf_fits(AnyMatrix(precision_of<T>, nullptr, m, w, m), room);
  };
  std::int64_t m = rows;
  while (m > w && !fits(m)) m = std::max(w, m / 4 * 3);
  if (!fits(m)) return {.why = "no room in shared memory"};
  const std::int64_t words = Parts::bytes(w, 1, sizeof(std::int64_t));
  const Buffer memory =
      trial_memory(l, 2 * Parts::bytes(m, w, sizeof(T)) + 2 * words, leaf_scratch());
  if (memory.bytes() == 0) return {.why = "no memory for a trial"};
  Parts parts(memory.data());
  auto* const status = parts.matrix<FactorStatus>(1, 1).data;
  const AnyMatrix a = parts.matrix<T>(m, w);
  const AnyMatrix lu = parts.matrix<T>(m, w);
  auto* const pivots = parts.matrix<std::int64_t>(w, 1).data;
  auto* const found = parts.matrix<PivotCandidate>(1, 1).data;
  generate(queue, trial_matrix(m, false), Distribution(m, m, 1, 0), Distribution(w, w, 1, 0), a);
  const auto from = [&](std::int64_t i, std::int64_t j) { return lu.block(i, j, m - i, w - j); };
  const auto by_columns = [&] {
    find_pivot(queue, lu.block(0, 0, m, 1), found);
    for (std::int64_t j = 0; j < w; ++j) {
      take_pivot(queue, from(j, 0), j, found, {}, pivots + j, status);
      eliminate(queue, lu.block(j, j, 1, w - j), from(j + 1, j), found);
    }
  };
  return try_both(queue,
                  {.operands = [&] { copy(queue, a, lu); },
                   .few = [&] { leaf_at_once(queue, lu, 0, w, 0, pivots, status); },
                   .many = by_columns,
                   .result = lu,
                   .rounding = 0},
                  status);
}

}  // namespace speedwell
