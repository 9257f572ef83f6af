// SPDX-License-Identifier: BSD-3-Clause
#include "device/cuda/product_call.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "device/cuda/check.hpp"

namespace speedwell {

namespace {

// Larger alignments make no product faster.
constexpr std::uint32_t best_alignment = 256;

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
cudaDataType_t type_of(Precision precision) {
  return precision == Precision::fp16   ? CUDA_R_16F
         : precision == Precision::bf16 ? CUDA_R_16BF
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

cublasLtMatrixLayoutOpaque_t layout(cudaDataType type, std::int64_t rows, std::int64_t columns,
                                    std::int64_t ld) {
  cublasLtMatrixLayoutOpaque_t made{};
  check(cublasLtMatrixLayoutInit(&made, type, static_cast<std::uint64_t>(rows),
                                 static_cast<std::uint64_t>(columns), ld),
        "cublasLtMatrixLayoutInit");
  return made;
}

template <class T>
void set(cublasLtMatmulDescOpaque_t& description, cublasLtMatmulDescAttributes_t attribute,
         const T& value) {
  check(cublasLtMatmulDescSetAttribute(&description, attribute, &value, sizeof(value)),
        "cublasLtMatmulDescSetAttribute");
}

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

const char* name(Reading reading) {
  constexpr std::array names{"fp16", "bf16", "fp32", "fp64"};
  return names.at(static_cast<std::size_t>(reading));
}

bool same(const cublasLtMatmulAlgo_t& a, const cublasLtMatmulAlgo_t& b) {
  return std::memcmp(&a, &b, sizeof(a)) == 0;
}

std::string words(const cublasLtMatmulAlgo_t& algorithm) {
  const auto number = [&]<class T>(cublasLtMatmulAlgoConfigAttributes_t attribute, T value) {
    std::size_t written = 0;
    const cublasStatus_t status =
        cublasLtMatmulAlgoConfigGetAttribute(&algorithm, attribute, &value, sizeof(T), &written);
    return status == CUBLAS_STATUS_SUCCESS ? std::to_string(value) : "?";
  };
  return fmt::format("{}: tile {}, stages {}, cluster {}, K in {}",
                     number(CUBLASLT_ALGO_CONFIG_ID, std::int32_t{}),
                     number(CUBLASLT_ALGO_CONFIG_TILE_ID, std::uint32_t{}),
                     number(CUBLASLT_ALGO_CONFIG_STAGES_ID, std::uint32_t{}),
                     number(CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID, std::uint16_t{}),
                     number(CUBLASLT_ALGO_CONFIG_SPLITK_NUM, std::int32_t{}));
}

ProductClass class_of(Reading reading, std::int64_t rows, std::int64_t columns, std::int64_t inner,
                      int multiprocessors) {
  return {.reading = reading,
          .row_bits = bits(rows),
          .column_bits = bits(columns),
          .inner = inner,
          .multiprocessors = multiprocessors};
}

ProductCall::ProductCall(Reading reading, const Factor& a, const Factor& b, AnyMatrix c,
                         int multiprocessors, bool scalars_on_device)
    : a_(a),
      b_(b),
      c_(c),
      class_(class_of(reading, c.rows, c.columns, a.columns, multiprocessors)) {
  class_.alignments = {alignment_of(a.data, a.ld, bytes_of(reading)),
                       alignment_of(b.data, b.ld, bytes_of(reading)),
                       alignment_of(c.data, c.ld, speedwell::bytes_of(c.precision))};
  class_.sums = c.precision;
  class_.scalars_on_device = scalars_on_device;
  check(cublasLtMatmulDescInit(&description_, CUBLAS_COMPUTE_32F, CUDA_R_32F),
        "cublasLtMatmulDescInit");
  if (scalars_on_device)
    set(description_, CUBLASLT_MATMUL_DESC_POINTER_MODE,
        std::int32_t{CUBLASLT_POINTER_MODE_DEVICE});
  if (multiprocessors > 0)
    set(description_, CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET, std::int32_t{multiprocessors});
  a_layout_ = layout(type_of(reading), a.rows, a.columns, a.ld);
  b_layout_ = layout(type_of(reading), b.rows, b.columns, b.ld);
  c_layout_ = layout(type_of(c.precision), c.rows, c.columns, c.ld);
}

double ProductCall::operations() const {
  return 2 * static_cast<double>(c_.rows) * static_cast<double>(c_.columns) *
         static_cast<double>(a_.columns);
}

Algorithms ProductCall::offers(cublasLtHandle_t handle, int most) const {
  const auto& [a, b, c] = class_.alignments;
  Preference preference;
  preference.set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                 static_cast<std::uint64_t>(Lane::workspace_bytes));
  preference.set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, fixed_order);
  preference.set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, a);
  preference.set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, b);
  preference.set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, c);
  preference.set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, c);
  std::array<cublasLtMatmulHeuristicResult_t, most_offered> results{};
  int found = 0;
  const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
      handle, &description_, &a_layout_, &b_layout_, &c_layout_, &c_layout_, preference.get(),
      std::min(most, most_offered), results.data(), &found);
  if (status == CUBLAS_STATUS_NOT_SUPPORTED) return {};
  check(status, "cublasLtMatmulAlgoGetHeuristic");
  Algorithms all;
  for (int i = 0; i < found; ++i)
    if (results[i].state == CUBLAS_STATUS_SUCCESS) all.push_back(results[i].algo);
  return all;
}

bool ProductCall::suits(cublasLtHandle_t handle, const cublasLtMatmulAlgo_t& algorithm) const {
  cublasLtMatmulHeuristicResult_t result{};
  return cublasLtMatmulAlgoCheck(handle, &description_, &a_layout_, &b_layout_, &c_layout_,
                                 &c_layout_, &algorithm, &result) == CUBLAS_STATUS_SUCCESS &&
         result.workspaceSize <= static_cast<std::size_t>(Lane::workspace_bytes);
}

cublasStatus_t ProductCall::start(cublasLtHandle_t handle, Lane& lane,
                                  const cublasLtMatmulAlgo_t& algorithm, const float* alpha,
                                  const float* beta) const {
  return cublasLtMatmul(handle, &description_, alpha, a_.data, &a_layout_, b_.data, &b_layout_,
                        beta, c_.data, &c_layout_, c_.data, &c_layout_, &algorithm,
                        lane.workspace(), static_cast<std::size_t>(Lane::workspace_bytes),
                        lane.stream());
}

void ProductCall::run_by_cublas(Lane& lane, const float* alpha, const float* beta) const {
  const cublasHandle_t blas = lane.blas();
  const auto scalars_lie = [blas](cublasPointerMode_t where) {
    check(cublasSetPointerMode(blas, where), "cublasSetPointerMode");
  };
  scalars_lie(class_.scalars_on_device ? CUBLAS_POINTER_MODE_DEVICE : CUBLAS_POINTER_MODE_HOST);
  const cudaDataType_t type = type_of(class_.reading);
  check(cublasGemmEx_64(blas, CUBLAS_OP_N, CUBLAS_OP_N, c_.rows, c_.columns, a_.columns, alpha,
                        a_.data, type, a_.ld, b_.data, type, b_.ld, beta, c_.data,
                        type_of(c_.precision), c_.ld, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
        "cublasGemmEx_64");
  scalars_lie(CUBLAS_POINTER_MODE_HOST);
}

}  // namespace speedwell
