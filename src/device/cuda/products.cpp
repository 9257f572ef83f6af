// SPDX-License-Identifier: BSD-3-Clause
#include "device/cuda/products.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <tuple>
#include <utility>

#include "device/cuda/blas.hpp"
#include "device/cuda/check.hpp"

namespace speedwell {

namespace {

// A product of fewer operations takes at most some 20 microseconds, even in FP32 at 50 TFLOP/s. Its
// time is mostly that of its launch, which is the same for all algorithms.
constexpr double least_tried = 0x1p30;

// Statuses with which cuBLASLt refuses an algorithm before it launches anything.
bool refuses(cublasStatus_t status) {
  return status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_INVALID_VALUE ||
         status == CUBLAS_STATUS_ARCH_MISMATCH;
}

// The kernel with the most thread blocks of those that `work` launches.
template <class Work>
std::optional<LaunchedKernel> largest_launch(cudaStream_t stream, const Work& work) {
  const std::vector<LaunchedKernel> all = launched_kernels(stream, work);
  const auto most = std::ranges::max_element(all, {}, &LaunchedKernel::blocks);
  return most == all.end() ? std::nullopt : std::optional(*most);
}

bool must_keep(const Lane& lane) {
  return lane.multiprocessors() > 0 && !lane.is_confined();
}

}  // namespace

/// Factors of products. cuBLASLt needs this alignment of scalars on the device.
struct Products::Scalars {
  alignas(16) float zero = 0;
  alignas(16) float one = 1;
  /// With this alpha, C <- C + alpha A B leaves C as it is where A B is less than 10^30 times
  /// larger. For zero a library might leave the product out.
  alignas(16) float tiny = std::numeric_limits<float>::min();
};

Products::Products() : scalars_(allocate_on_gpu(sizeof(Scalars))) {
  check(cublasLtCreate(&handle_), "cublasLtCreate");
  const Scalars scalars;
  const Lane lane(Priority::normal);
  check(cudaMemcpyAsync(scalars_.data(), &scalars, sizeof(scalars), cudaMemcpyHostToDevice,
                        lane.stream()),
        "cudaMemcpyAsync");
  check(cudaStreamSynchronize(lane.stream()), "cudaStreamSynchronize");
}

Products::~Products() {
  if (handle_ != nullptr) cublasLtDestroy(handle_);
}

// A class takes the next of its candidates where cuBLASLt refuses one that it has offered. An
// algorithm for one product may not suit another one of its class: then that one alone takes the
// next, and the class gets more where none is left.
void Products::run(Lane& lane, const ProductCall& call, const float* alpha, const float* beta) {
  if (rehearsing_) try_candidates(lane, call, beta);
  Known& known = known_as(lane, call);
  if (left_out(call.of())) return;
  do {
    for (Candidate& one : known.candidates) {
      if (one.refused != nullptr) continue;
      const cublasStatus_t status = call.start(handle_, lane, one.algorithm, alpha, beta);
      if (!refuses(status)) return check(status, "cublasLtMatmul");
      if (call.suits(handle_, one.algorithm)) one.refused = "in a run";
    }
  } while (get_more(lane, call, known));
  call.run_by_cublas(lane, alpha, beta);
}

// What is known of the product's class. In a run, a new class begins with what is known of one like
// it: nothing is asked of cuBLASLt.
Products::Known& Products::known_as(Lane& lane, const ProductCall& call) {
  const auto [place, is_new] =
      known_.try_emplace(call.of(), Known{.rows = call.rows(), .columns = call.columns()});
  Known& known = place->second;
  known.must_keep = must_keep(lane);
  known.is_small = call.operations() < least_tried;
  if (!is_new || rehearsing_) return known;
  if (const auto* const like = rehearsed_once_ ? class_like(call.of()) : nullptr) {
    known.candidates = like->second.candidates;
    // What they launch depends on the limit.
    if (known.is_limited() && like->first.multiprocessors != call.of().multiprocessors) {
      for (Candidate& one : known.candidates) one.kernel.reset();
      look_at_launches(lane, call, known);
    }
    sort(call.of(), known);
  }
  return known;
}

// Asks cuBLASLt for further candidates. False if there are none.
bool Products::get_more(Lane& lane, const ProductCall& call, Known& known) {
  if (known.complete) return false;
  const std::size_t before = known.candidates.size();
  const bool refused = std::ranges::any_of(known.candidates, &Candidate::refused);
  ask(call, known, refused || known.is_limited() ? ProductCall::most_offered : 1);
  if (known.is_limited()) look_at_launches(lane, call, known);
  sort(call.of(), known);
  return known.candidates.size() > before;
}

// Adds what cuBLASLt offers and the class does not have yet.
void Products::ask(const ProductCall& call, Known& known, int most) {
  const bool had_none = std::ranges::all_of(known.candidates, &Candidate::refused);
  const std::size_t before = known.candidates.size();
  for (const cublasLtMatmulAlgo_t& algorithm : call.offers(handle_, most)) {
    const auto is_it = [&](const Candidate& one) { return same(one.algorithm, algorithm); };
    if (std::ranges::none_of(known.candidates, is_it))
      known.candidates.push_back({.algorithm = algorithm});
  }
  known.complete = had_none && known.candidates.size() == before;
}

// The kernels that the candidates would launch for this product.
void Products::look_at_launches(Lane& lane, const ProductCall& call, Known& known) {
  const Scalars on_host;
  const float* const one =
      call.of().scalars_on_device ? &scalars_.as<Scalars>()->one : &on_host.one;
  lane.workspace();  // allocated here: no allocation inside a capture
  for (Candidate& candidate : known.candidates) {
    if (candidate.kernel || candidate.refused != nullptr) continue;
    candidate.kernel = largest_launch(lane.stream(), [&] {
      check(call.start(handle_, lane, candidate.algorithm, one, one), "cublasLtMatmul");
    });
  }
}

// First those that keep to the limit of multiprocessors, and of these the fastest.
void Products::sort(const ProductClass& of, Known& known) {
  const auto passes_the_limit = [&](const Candidate& one) {
    return known.is_limited() && one.kernel && one.kernel->blocks() > of.multiprocessors;
  };
  std::ranges::stable_sort(known.candidates, {}, [&](const Candidate& one) {
    return std::tuple(passes_the_limit(one), one.milliseconds);
  });
}

// Gives a class its algorithms with its first large product, and times them with the factors of
// this product: a GPU's clock depends on the numbers that it multiplies. C must not grow with each
// trial, or the numbers of the rehearsal might not stay finite.
void Products::try_candidates(Lane& lane, const ProductCall& call, const float* beta) {
  if (call.operations() < least_tried || !tried_.insert(call.of()).second) return;
  Known& known = known_[call.of()] = {
      .rows = call.rows(), .columns = call.columns(), .must_keep = must_keep(lane)};
  ask(call, known, ProductCall::most_offered);
  if (known.candidates.size() < 2) return;
  const Scalars on_host;
  const bool on_device = call.of().scalars_on_device;
  const Scalars& scalars = on_device ? *scalars_.as<Scalars>() : on_host;
  const float* const kept = on_device || *beta != 0 ? &scalars.one : &scalars.zero;
  Algorithms all;
  for (const Candidate& one : known.candidates) all.push_back(one.algorithm);
  ProductTrials trials(lane.stream(), all, [&](const cublasLtMatmulAlgo_t& one) {
    return call.start(handle_, lane, one, &scalars.tiny, kept) == CUBLAS_STATUS_SUCCESS;
  });
  const std::vector<ProductTrials::Result> results = trials.results();
  for (std::size_t i = 0; i < results.size(); ++i)
    if (!results[i].accepted) known.candidates[i].refused = "in a trial";
  trials_.emplace(call.of(), std::move(trials));
  look_at_launches(lane, call, known);
  sort(call.of(), known);
}

// What runs beside an update, and for how long, is measured in the run itself. So a product may
// come with other numbers of columns and multiprocessors than in the rehearsal. It takes the
// candidates of a class that is equal in all else: of those with the same limit, or else that are
// limited too, or are not either, or else of all, the one with the nearest number of columns.
const std::pair<const ProductClass, Products::Known>* Products::class_like(
    const ProductClass& wanted) const {
  const std::pair<const ProductClass, Known>* best = nullptr;
  std::tuple nearest(true, true, std::numeric_limits<int>::max());
  for (const auto& one : known_) {
    const auto& [other, known] = one;
    ProductClass as_wanted = other;
    as_wanted.column_bits = wanted.column_bits;
    as_wanted.multiprocessors = wanted.multiprocessors;
    const std::tuple distance((other.multiprocessors > 0) != (wanted.multiprocessors > 0),
                              other.multiprocessors != wanted.multiprocessors,
                              std::abs(other.column_bits - wanted.column_bits));
    if (as_wanted != wanted || known.candidates.empty() || distance >= nearest) continue;
    nearest = distance;
    best = &one;
  }
  return best;
}

void Products::rehearse(bool on) {
  for (const auto& [of, trials] : trials_) {
    Known& known = known_[of];
    for (const ProductTrials::Result& result : trials.results())
      for (Candidate& one : known.candidates)
        if (same(one.algorithm, result.algorithm)) one.milliseconds = result.milliseconds;
    sort(of, known);
  }
  trials_.clear();
  rehearsed_once_ |= rehearsing_;
  rehearsing_ = on;
  rehearsed_.clear();
}

bool Products::left_out(const ProductClass& of) {
  return rehearsing_ && !rehearsed_.insert(of).second;
}

std::vector<ProductChoice> Products::choices() const {
  std::vector<ProductChoice> all;
  for (const auto& [of, known] : known_)
    for (const Candidate& one : known.candidates)
      all.push_back({.reading = name(of.reading),
                     .m = known.rows,
                     .n = known.columns,
                     .k = of.inner,
                     .multiprocessors = of.multiprocessors,
                     .confined = of.multiprocessors > 0 && !known.must_keep,
                     .algorithm = words(one.algorithm),
                     .kernel = one.kernel ? one.kernel->name : "",
                     .blocks = one.kernel ? one.kernel->blocks() : -1,
                     .milliseconds = std::isfinite(one.milliseconds) ? one.milliseconds : -1,
                     .refused = one.refused != nullptr ? one.refused : ""});
  return all;
}

void Products::multiply(Lane& lane, Reading reading, float alpha, const Factor& a, const Factor& b,
                        float beta, MatrixView<float> c) {
  if (c.empty() || a.columns == 0) return;
  run(lane, ProductCall(reading, a, b, c, lane.multiprocessors(), false), &alpha, &beta);
}

void Products::add(Lane& lane, Reading reading, const float* alpha, const Factor& a,
                   const Factor& b, AnyMatrix c) {
  if (c.empty() || a.columns == 0) return;
  run(lane, ProductCall(reading, a, b, c, lane.multiprocessors(), true), alpha,
      &scalars_.as<Scalars>()->one);
}

// cuBLAS chooses its algorithms itself. The class decides only whether a rehearsal leaves the
// product out: cuBLAS loads its kernels at their first use.
void Products::add(Lane& lane, double alpha, MatrixView<const double> a, MatrixView<const double> b,
                   MatrixView<double> c, Fp64Products products, double beta) {
  if (!left_out(class_of(Reading::fp64, c.rows, c.columns, a.columns, lane.multiprocessors())))
    add_product<double>(lane, alpha, a, b, c, Transpose::no, products, beta);
}

}  // namespace speedwell
