// SPDX-License-Identifier: BSD-3-Clause
#include "device/cuda/products.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <limits>
#include <tuple>
#include <utility>

#include "device/cuda/blas.hpp"
#include "device/cuda/check.hpp"

namespace lupine {

namespace {

// Larger alignments make no product faster.
constexpr std::uint32_t best_alignment = 256;

// A rehearsal tries so many algorithms. The heuristic sorts them by the time that it expects, so
// later ones are hardly the fastest.
constexpr int most_tried = 8;
// A product of fewer operations takes at most some 20 microseconds, even in FP32 at 50 TFLOP/s. Its
// time is mostly that of its launch, which is the same for all algorithms.
constexpr double least_tried = 0x1p30;

// The sums of parts of K are added by a kernel of their own, if K is split at all. "In place", they
// are added one after the other, but nothing says in which order: then two equal products might
// differ.
constexpr auto fixed_order = static_cast<std::uint32_t>(CUBLASLT_REDUCTION_SCHEME_NONE |
                                                        CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE);

cudaDataType_t type_of(Reading reading) {
  return reading == Reading::fp16   ? CUDA_R_16F
         : reading == Reading::bf16 ? CUDA_R_16BF
                                    : CUDA_R_32F;
}
std::int64_t bytes_of(Reading reading) {
  return reading == Reading::fp16 || reading == Reading::bf16 ? 2 : 4;
}

// The alignment that all columns of a matrix have, in bytes; at most best_alignment.
std::uint32_t alignment_of(const void* data, std::int64_t ld, std::int64_t element) {
  const auto bits = reinterpret_cast<std::uintptr_t>(data) |
                    static_cast<std::uintptr_t>(ld * element) | best_alignment;
  return std::uint32_t{1} << std::countr_zero(bits);
}

int bits(std::int64_t size) {
  return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(size)));
}

class Layout {
 public:
  Layout(cudaDataType_t type, std::int64_t rows, std::int64_t columns, std::int64_t ld) {
    check(cublasLtMatrixLayoutCreate(&layout_, type, static_cast<std::uint64_t>(rows),
                                     static_cast<std::uint64_t>(columns), ld),
          "cublasLtMatrixLayoutCreate");
  }
  Layout(const Layout&) = delete;
  Layout& operator=(const Layout&) = delete;
  ~Layout() { cublasLtMatrixLayoutDestroy(layout_); }
  cublasLtMatrixLayout_t get() const { return layout_; }

 private:
  cublasLtMatrixLayout_t layout_ = nullptr;
};

class Description {
 public:
  Description(Reading reading, int multiprocessors, bool scalars_on_device) {
    const cublasComputeType_t compute =
        reading == Reading::tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
    check(cublasLtMatmulDescCreate(&description_, compute, CUDA_R_32F), "cublasLtMatmulDescCreate");
    if (scalars_on_device)
      set(CUBLASLT_MATMUL_DESC_POINTER_MODE, std::int32_t{CUBLASLT_POINTER_MODE_DEVICE});
    if (multiprocessors > 0)
      set(CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET, std::int32_t{multiprocessors});
  }
  Description(const Description&) = delete;
  Description& operator=(const Description&) = delete;
  ~Description() { cublasLtMatmulDescDestroy(description_); }
  cublasLtMatmulDesc_t get() const { return description_; }

 private:
  template <class T>
  void set(cublasLtMatmulDescAttributes_t attribute, const T& value) {
    check(cublasLtMatmulDescSetAttribute(description_, attribute, &value, sizeof(value)),
          "cublasLtMatmulDescSetAttribute");
  }
  cublasLtMatmulDesc_t description_ = nullptr;
};

class Preference {
 public:
  Preference() {
    check(cublasLtMatmulPreferenceCreate(&preference_), "cublasLtMatmulPreferenceCreate");
  }
  Preference(const Preference&) = delete;
  Preference& operator=(const Preference&) = delete;
  ~Preference() { cublasLtMatmulPreferenceDestroy(preference_); }
  cublasLtMatmulPreference_t get() const { return preference_; }
  template <class T>
  void set(cublasLtMatmulPreferenceAttributes_t attribute, const T& value) {
    check(cublasLtMatmulPreferenceSetAttribute(preference_, attribute, &value, sizeof(value)),
          "cublasLtMatmulPreferenceSetAttribute");
  }

 private:
  cublasLtMatmulPreference_t preference_ = nullptr;
};

}  // namespace

/// One product, with the descriptions that cuBLASLt needs.
struct Products::Call {
  Call(Reading r, const Factor& left, const Factor& right, MatrixView<float> to, int limit,
       bool scalars_on_device)
      : reading(r),
        a(left),
        b(right),
        c(to),
        multiprocessors(limit),
        on_device(scalars_on_device),
        description(r, limit, scalars_on_device),
        a_layout(type_of(r), a.rows, a.columns, a.ld),
        b_layout(type_of(r), b.rows, b.columns, b.ld),
        c_layout(CUDA_R_32F, c.rows, c.columns, c.ld),
        alignments{alignment_of(a.data, a.ld, bytes_of(r)), alignment_of(b.data, b.ld, bytes_of(r)),
                   alignment_of(c.data, c.ld, sizeof(float))} {}

  Shape shape() const {
    return {reading,
            bits(c.rows),
            bits(c.columns),
            a.columns,
            static_cast<int>(alignments[0]),
            static_cast<int>(alignments[1]),
            static_cast<int>(alignments[2]),
            multiprocessors,
            on_device};
  }

  double operations() const {
    return 2 * static_cast<double>(c.rows) * static_cast<double>(c.columns) *
           static_cast<double>(a.columns);
  }

  Reading reading;
  Factor a;
  Factor b;
  MatrixView<float> c;
  int multiprocessors;
  bool on_device;
  Description description;
  Layout a_layout;
  Layout b_layout;
  Layout c_layout;
  std::array<std::uint32_t, 3> alignments;
};

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
  const Lane lane(Priority::normal, [] {});
  check(cudaMemcpyAsync(scalars_.data(), &scalars, sizeof(scalars), cudaMemcpyHostToDevice,
                        lane.stream()),
        "cudaMemcpyAsync");
  check(cudaStreamSynchronize(lane.stream()), "cudaStreamSynchronize");
}

Products::~Products() {
  if (handle_ != nullptr) cublasLtDestroy(handle_);
}

// The heuristic's best algorithms, at most `most` <= most_tried; none if there are none.
Algorithms Products::offers(const Call& call, int most) const {
  Preference preference;
  preference.set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                 static_cast<std::uint64_t>(Lane::workspace_bytes));
  preference.set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, fixed_order);
  preference.set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, call.alignments[0]);
  preference.set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, call.alignments[1]);
  preference.set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, call.alignments[2]);
  preference.set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, call.alignments[2]);
  std::array<cublasLtMatmulHeuristicResult_t, most_tried> results{};
  int found = 0;
  const auto layout = call.c_layout.get();
  const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
      handle_, call.description.get(), call.a_layout.get(), call.b_layout.get(), layout, layout,
      preference.get(), most, results.data(), &found);
  if (status == CUBLAS_STATUS_NOT_SUPPORTED) return {};
  check(status, "cublasLtMatmulAlgoGetHeuristic");
  Algorithms all;
  for (int i = 0; i < found; ++i)
    if (results[i].state == CUBLAS_STATUS_SUCCESS) all.push_back(results[i].algo);
  return all;
}

// Gives a class its algorithms with its first large product, and times them with the factors of
// this product: a GPU's clock depends on the numbers that it multiplies. C must not grow with each
// trial, or the numbers of the rehearsal might not stay finite.
void Products::try_offers(Lane& lane, const Call& call, const float* beta) {
  if (call.operations() < least_tried || !tried_.insert(call.shape()).second) return;
  Algorithms& known = algorithms_[call.shape()] = offers(call, most_tried);
  if (known.size() < 2) return;
  const Scalars on_host;
  const Scalars& scalars = call.on_device ? *scalars_.as<Scalars>() : on_host;
  const float* const kept = call.on_device || *beta != 0 ? &scalars.one : &scalars.zero;
  ProductTrials trials(lane.stream(), known, [&](const cublasLtMatmulAlgo_t& one) {
    return start(lane, call, one, &scalars.tiny, kept) == CUBLAS_STATUS_SUCCESS;
  });
  known = trials.accepted();
  trials_.emplace(call.shape(), std::move(trials));
}

bool Products::suits(const Call& call, const cublasLtMatmulAlgo_t& algorithm) const {
  cublasLtMatmulHeuristicResult_t result{};
  const auto layout = call.c_layout.get();
  return cublasLtMatmulAlgoCheck(handle_, call.description.get(), call.a_layout.get(),
                                 call.b_layout.get(), layout, layout, &algorithm,
                                 &result) == CUBLAS_STATUS_SUCCESS &&
         result.workspaceSize <= static_cast<std::size_t>(Lane::workspace_bytes);
}

// An algorithm for one shape may not run for another shape of its class. Then the class gets one
// more algorithm.
Products::Algorithm Products::algorithm(const Call& call) {
  const auto [place, is_new] = algorithms_.try_emplace(call.shape());
  auto& known = place->second;
  if (is_new && rehearsed_once_ && !rehearsing_) known = algorithms_like(call.shape());
  for (const cublasLtMatmulAlgo_t& one : known)
    if (suits(call, one)) return one;
  if (!is_new && known.empty()) return std::nullopt;
  const Algorithms offered = offers(call, 1);
  if (offered.empty()) return std::nullopt;
  known.push_back(offered.front());
  return known.back();
}

// What runs beside an update, and for how long, is measured in the run itself. So a product may
// come with other numbers of columns and multiprocessors than in the rehearsal. It takes the
// algorithms of the class that has the nearest number of columns and is equal in all else.
Algorithms Products::algorithms_like(const Shape& shape) const {
  constexpr int columns = 2;
  constexpr int multiprocessors = 7;
  const Algorithms* best = nullptr;
  int nearest = std::numeric_limits<int>::max();
  for (const auto& [other, known] : algorithms_) {
    Shape as_mine = other;
    std::get<columns>(as_mine) = std::get<columns>(shape);
    std::get<multiprocessors>(as_mine) = std::get<multiprocessors>(shape);
    const int distance = std::abs(std::get<columns>(other) - std::get<columns>(shape));
    if (as_mine != shape || known.empty() || distance >= nearest) continue;
    nearest = distance;
    best = &known;
  }
  return best != nullptr ? *best : Algorithms();
}

// A class may have got further algorithms behind those that were tried.
void Products::rehearse(bool on) {
  for (const auto& [shape, trials] : trials_)
    std::ranges::copy(trials.fastest_first(), algorithms_[shape].begin());
  trials_.clear();
  rehearsed_once_ |= rehearsing_;
  rehearsing_ = on;
  rehearsed_.clear();
}

bool Products::left_out(const Shape& shape) {
  return rehearsing_ && !rehearsed_.insert(shape).second;
}

void Products::run(Lane& lane, const Call& call, const float* alpha, const float* beta) {
  if (rehearsing_) try_offers(lane, call, beta);
  const Algorithm algo = algorithm(call);
  if (left_out(call.shape())) return;
  if (!algo) return run_anyway(lane, call, alpha, beta);
  check(start(lane, call, *algo, alpha, beta), "cublasLtMatmul");
}

cublasStatus_t Products::start(Lane& lane, const Call& call, const cublasLtMatmulAlgo_t& algorithm,
                               const float* alpha, const float* beta) const {
  const auto layout = call.c_layout.get();
  return cublasLtMatmul(handle_, call.description.get(), alpha, call.a.data, call.a_layout.get(),
                        call.b.data, call.b_layout.get(), beta, call.c.data, layout, call.c.data,
                        layout, &algorithm, lane.workspace(),
                        static_cast<std::size_t>(Lane::workspace_bytes), lane.stream());
}

// For products that cuBLASLt may refuse, such as those of columns that are aligned only to their
// elements: cuBLAS takes them.
void Products::run_anyway(Lane& lane, const Call& call, const float* alpha, const float* beta) {
  const cublasHandle_t blas = lane.blas();
  const auto scalars_lie = [blas](cublasPointerMode_t where) {
    check(cublasSetPointerMode(blas, where), "cublasSetPointerMode");
  };
  scalars_lie(call.on_device ? CUBLAS_POINTER_MODE_DEVICE : CUBLAS_POINTER_MODE_HOST);
  const cudaDataType_t type = type_of(call.reading);
  check(
      cublasGemmEx_64(blas, CUBLAS_OP_N, CUBLAS_OP_N, call.c.rows, call.c.columns, call.a.columns,
                      alpha, call.a.data, type, call.a.ld, call.b.data, type, call.b.ld, beta,
                      call.c.data, CUDA_R_32F, call.c.ld, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
      "cublasGemmEx_64");
  scalars_lie(CUBLAS_POINTER_MODE_HOST);
}

void Products::multiply(Lane& lane, Reading reading, float alpha, const Factor& a, const Factor& b,
                        float beta, MatrixView<float> c) {
  if (c.empty() || a.columns == 0) return;
  run(lane, Call(reading, a, b, c, lane.multiprocessors(), false), &alpha, &beta);
}

void Products::add(Lane& lane, Reading reading, const float* alpha, const Factor& a,
                   const Factor& b, MatrixView<float> c) {
  if (c.empty() || a.columns == 0) return;
  run(lane, Call(reading, a, b, c, lane.multiprocessors(), true), alpha,
      &scalars_.as<Scalars>()->one);
}

// cuBLAS chooses its algorithms itself. The class decides only whether a rehearsal leaves the
// product out: cuBLAS loads its kernels at their first use.
void Products::add(Lane& lane, double alpha, MatrixView<const double> a, MatrixView<const double> b,
                   MatrixView<double> c) {
  const Shape shape{Reading::fp64,          bits(c.rows), bits(c.columns), a.columns, 0, 0, 0,
                    lane.multiprocessors(), false};
  if (!left_out(shape)) add_product(lane, alpha, a, b, c);
}

}  // namespace lupine
