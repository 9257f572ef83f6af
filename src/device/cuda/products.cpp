// SPDX-License-Identifier: BSD-3-Clause
#include "device/cuda/products.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "device/cuda/blas.hpp"
#include "device/cuda/check.hpp"

namespace lupine {

namespace {

// Larger alignments make no product faster.
constexpr std::uint32_t best_alignment = 256;

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

Products::Products() : one_(allocate_on_gpu(sizeof(float))) {
  check(cublasLtCreate(&handle_), "cublasLtCreate");
  constexpr float one = 1;
  const Lane lane(Priority::normal, [] {});
  check(cudaMemcpyAsync(one_.data(), &one, sizeof(one), cudaMemcpyHostToDevice, lane.stream()),
        "cudaMemcpyAsync");
  check(cudaStreamSynchronize(lane.stream()), "cudaStreamSynchronize");
}

Products::~Products() {
  if (handle_ != nullptr) cublasLtDestroy(handle_);
}

Products::Algorithm Products::choose(const Call& call) const {
  Preference preference;
  preference.set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                 static_cast<std::uint64_t>(Lane::workspace_bytes));
  preference.set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, call.alignments[0]);
  preference.set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, call.alignments[1]);
  preference.set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, call.alignments[2]);
  preference.set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, call.alignments[2]);
  cublasLtMatmulHeuristicResult_t result{};
  int found = 0;
  const auto layout = call.c_layout.get();
  const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
      handle_, call.description.get(), call.a_layout.get(), call.b_layout.get(), layout, layout,
      preference.get(), 1, &result, &found);
  if (status == CUBLAS_STATUS_NOT_SUPPORTED) return std::nullopt;
  check(status, "cublasLtMatmulAlgoGetHeuristic");
  return found > 0 ? Algorithm(result.algo) : std::nullopt;
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
  for (const cublasLtMatmulAlgo_t& one : known)
    if (suits(call, one)) return one;
  if (!is_new && known.empty()) return std::nullopt;
  const Algorithm chosen = choose(call);
  if (chosen) known.push_back(*chosen);
  return chosen;
}

void Products::rehearse(bool on) {
  rehearsing_ = on;
  rehearsed_.clear();
}

bool Products::left_out(const Shape& shape) {
  return rehearsing_ && !rehearsed_.insert(shape).second;
}

void Products::run(Lane& lane, const Call& call, const float* alpha, const float* beta) {
  const Algorithm algo = algorithm(call);
  if (left_out(call.shape())) return;
  if (!algo) return run_anyway(lane, call, alpha, beta);
  const auto layout = call.c_layout.get();
  check(cublasLtMatmul(handle_, call.description.get(), alpha, call.a.data, call.a_layout.get(),
                       call.b.data, call.b_layout.get(), beta, call.c.data, layout, call.c.data,
                       layout, &*algo, lane.workspace(),
                       static_cast<std::size_t>(Lane::workspace_bytes), lane.stream()),
        "cublasLtMatmul");
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
  run(lane, Call(reading, a, b, c, lane.multiprocessors(), true), alpha, one_.as<float>());
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
