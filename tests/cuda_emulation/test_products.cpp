// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Products and triangular solves compute what they should, and refuse what the libraries refuse.
#include <cublasLt.h>
#include <cublas_v2.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "bench.hpp"

using namespace speedwell::emulation;

namespace {

std::uint16_t to_bfloat16(float x) {
  return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(x) >> 16);
}

/// Exact for integers 1 ... 2047.
std::uint16_t to_half(float x) {
  const int sign = std::signbit(x) ? 0x8000 : 0;
  if (x == 0) return static_cast<std::uint16_t>(sign);
  int exponent = 0;
  const float fraction = std::frexp(std::fabs(x), &exponent);
  const int bits = static_cast<int>(std::ldexp(fraction, 11)) - 1024;
  return static_cast<std::uint16_t>(sign | (exponent + 14) << 10 | bits);
}

struct Sizes {
  std::int64_t m, n, k;
  bool ta, tb;
  std::int64_t lda() const { return (ta ? k : m) + 3; }
  std::int64_t ldb() const { return (tb ? n : k) + 5; }
  std::int64_t ldc() const { return m + 1; }
  std::size_t a_size() const { return lda() * (ta ? m : k); }
  std::size_t b_size() const { return ldb() * (tb ? k : n); }
};

/// Small integers, so that all sums are exact.
template <class T>
T entry(std::size_t i, int salt) {
  return static_cast<T>(static_cast<int>((i * 7 + salt * 11) % 13) - 6);
}

template <class T>
std::vector<T> entries(std::size_t count, int salt) {
  std::vector<T> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = entry<T>(i, salt);
  return values;
}

template <class T>
std::vector<T> plain_product(const Sizes& s, T alpha, const std::vector<T>& a,
                             const std::vector<T>& b, T beta, std::vector<T> c) {
  for (std::int64_t j = 0; j < s.n; ++j) {
    for (std::int64_t i = 0; i < s.m; ++i) {
      T sum = 0;
      for (std::int64_t l = 0; l < s.k; ++l) {
        sum += a[s.ta ? l + i * s.lda() : i + l * s.lda()] *
               b[s.tb ? j + l * s.ldb() : l + j * s.ldb()];
      }
      T& result = c[i + j * s.ldc()];
      result = alpha * sum + (beta != 0 ? beta * result : T{0});
    }
  }
  return c;
}

/// All that one product of cuBLASLt needs.
struct Lt {
  cublasLtHandle_t handle = nullptr;
  mutable cublasLtMatmulDescOpaque_t description{};
  mutable std::array<cublasLtMatrixLayoutOpaque_t, 3> layouts{};
  cublasLtMatmulDesc_t operation = &description;
  cublasLtMatrixLayout_t a = &layouts[0];
  cublasLtMatrixLayout_t b = &layouts[1];
  cublasLtMatrixLayout_t d = &layouts[2];
  cublasLtMatmulPreference_t preference = nullptr;

  Lt(const Sizes& s, cudaDataType in, cudaDataType out, cublasComputeType_t compute)
      : Lt(s, in, out, compute, out) {}
  Lt(const Sizes& s, cudaDataType in, cudaDataType out, cublasComputeType_t compute,
     cudaDataType scalars) {
    REQUIRE(cublasLtCreate(&handle) == CUBLAS_STATUS_SUCCESS);
    REQUIRE(cublasLtMatmulDescInit(operation, compute, scalars) == CUBLAS_STATUS_SUCCESS);
    const cublasOperation_t ta = s.ta ? CUBLAS_OP_T : CUBLAS_OP_N;
    const cublasOperation_t tb = s.tb ? CUBLAS_OP_T : CUBLAS_OP_N;
    cublasLtMatmulDescSetAttribute(operation, CUBLASLT_MATMUL_DESC_TRANSA, &ta, sizeof(ta));
    cublasLtMatmulDescSetAttribute(operation, CUBLASLT_MATMUL_DESC_TRANSB, &tb, sizeof(tb));
    cublasLtMatrixLayoutInit(a, in, s.ta ? s.k : s.m, s.ta ? s.m : s.k, s.lda());
    cublasLtMatrixLayoutInit(b, in, s.tb ? s.n : s.k, s.tb ? s.k : s.n, s.ldb());
    cublasLtMatrixLayoutInit(d, out, s.m, s.n, s.ldc());
    REQUIRE(cublasLtMatmulPreferenceCreate(&preference) == CUBLAS_STATUS_SUCCESS);
  }
  Lt(const Lt&) = delete;
  Lt& operator=(const Lt&) = delete;
  ~Lt() {
    cublasLtMatmulPreferenceDestroy(preference);
    cublasLtDestroy(handle);
  }
  void prefer(std::uint64_t workspace, std::uint32_t alignment_a) const {
    REQUIRE(cublasLtMatmulPreferenceSetAttribute(
                preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace,
                sizeof(workspace)) == CUBLAS_STATUS_SUCCESS);
    REQUIRE(cublasLtMatmulPreferenceSetAttribute(
                preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, &alignment_a,
                sizeof(alignment_a)) == CUBLAS_STATUS_SUCCESS);
  }
  cublasLtMatmulHeuristicResult_t first() const {
    cublasLtMatmulHeuristicResult_t result{};
    int count = 0;
    REQUIRE(cublasLtMatmulAlgoGetHeuristic(handle, operation, a, b, d, d, preference, 1, &result,
                                           &count) == CUBLAS_STATUS_SUCCESS);
    REQUIRE(count == 1);
    return result;
  }
};

template <class Low, class T, class Convert>
void check_product(const Sizes& s, cudaDataType in, cudaDataType out, cublasComputeType_t compute,
                   T beta, bool scalars_on_device, Convert convert) {
  const Stream stream;
  const Lt lt(s, in, out, compute);
  const auto a = entries<T>(s.a_size(), 1);
  const auto b = entries<T>(s.b_size(), 2);
  auto c = entries<T>(s.ldc() * s.n, 3);
  if (beta == 0) c.assign(c.size(), std::numeric_limits<T>::quiet_NaN());
  std::vector<Low> low_a(a.size());
  std::vector<Low> low_b(b.size());
  std::transform(a.begin(), a.end(), low_a.begin(), convert);
  std::transform(b.begin(), b.end(), low_b.begin(), convert);
  const Array<Low> device_a(low_a, stream);
  const Array<Low> device_b(low_b, stream);
  const Array<T> device_c(c, stream);
  T scalars[2] = {-2, beta};
  // Each 16 bytes behind the one before; a step further is not where cuBLASLt takes one.
  constexpr std::int64_t apart = 16 / sizeof(T);
  std::vector<T> spread(3 * apart);
  spread[0] = -2;
  spread[apart] = beta;
  const Array<T> device_scalars(spread, stream);
  const auto mode = scalars_on_device ? CUBLASLT_POINTER_MODE_DEVICE : CUBLASLT_POINTER_MODE_HOST;
  cublasLtMatmulDescSetAttribute(lt.operation, CUBLASLT_MATMUL_DESC_POINTER_MODE, &mode,
                                 sizeof(mode));
  const T* const alpha = scalars_on_device ? device_scalars.data : scalars;
  const T* const second = scalars_on_device ? device_scalars.data + apart : scalars + 1;
  const auto found = lt.first();
  const auto multiply = [&](const T* first, const T* other) {
    return cublasLtMatmul(lt.handle, lt.operation, first, device_a.data, lt.a, device_b.data, lt.b,
                          other, device_c.data, lt.d, device_c.data, lt.d, &found.algo, nullptr, 0,
                          stream.id);
  };
  if (scalars_on_device) {
    REQUIRE(multiply(alpha + 1, second) == CUBLAS_STATUS_INVALID_VALUE);
    REQUIRE(multiply(alpha, second + 1) == CUBLAS_STATUS_INVALID_VALUE);
  }
  REQUIRE(multiply(alpha, second) == CUBLAS_STATUS_SUCCESS);
  scalars[0] = 100;  // has been read
  const auto result = device_c.read(stream);
  const auto expected = plain_product<T>(s, -2, a, b, beta, c);
  for (std::int64_t j = 0; j < s.n; ++j) {
    for (std::int64_t i = 0; i < s.m; ++i) {
      REQUIRE(result[i + j * s.ldc()] == expected[i + j * s.ldc()]);
    }
  }
}

}  // namespace

TEST_CASE("products of cuBLASLt against plain loops", "[emulation]") {
  const auto same = [](auto x) { return x; };
  for (const int variant : {0, 1, 2, 3}) {
    const Sizes s{9, 7, 12, variant % 2 == 1, variant >= 2};
    const float beta = variant == 1 ? 0.0f : 1.5f;
    const bool device = variant >= 1;
    check_product<std::uint16_t, float>(s, CUDA_R_16F, CUDA_R_32F, CUBLAS_COMPUTE_32F, beta, device,
                                        to_half);
    check_product<std::uint16_t, float>(s, CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F, beta,
                                        device, to_bfloat16);
    check_product<float, float>(s, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F, beta, device, same);
    check_product<double, double>(s, CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F, beta, device,
                                  same);
  }
  CHECK(live_objects() == 0);
}

TEST_CASE("cuBLASLt rounds FP32 sums to a result of 16 bits", "[emulation]") {
  const Stream stream;
  const Sizes s{9, 7, 12, false, false};
  const auto a = entries<float>(s.a_size(), 1);
  const auto b = entries<float>(s.b_size(), 2);
  const auto c = entries<float>(s.ldc() * s.n, 3);
  const auto low = [](const std::vector<float>& from, auto convert) {
    std::vector<std::uint16_t> to(from.size());
    std::transform(from.begin(), from.end(), to.begin(), convert);
    return to;
  };
  const auto check_type = [&](cudaDataType type, auto convert, int bits) {
    const Lt lt(s, type, type, CUBLAS_COMPUTE_32F, CUDA_R_32F);
    const Array<std::uint16_t> device_a(low(a, convert), stream);
    const Array<std::uint16_t> device_b(low(b, convert), stream);
    const Array<std::uint16_t> device_c(low(c, convert), stream);
    const float alpha = 1 + 0x1p-9f;  // sums need rounding
    const float beta = 1;
    const auto found = lt.first();
    REQUIRE(cublasLtMatmul(lt.handle, lt.operation, &alpha, device_a.data, lt.a, device_b.data,
                           lt.b, &beta, device_c.data, lt.d, device_c.data, lt.d, &found.algo,
                           nullptr, 0, stream.id) == CUBLAS_STATUS_SUCCESS);
    const auto result = device_c.read(stream);
    const auto expected = plain_product<float>(s, alpha, a, b, beta, c);
    for (std::int64_t j = 0; j < s.n; ++j)
      for (std::int64_t i = 0; i < s.m; ++i) {
        const auto at = i + j * s.ldc();
        int exponent = 0;
        const float fraction = std::frexp(expected[at], &exponent);
        const float rounded =
            std::ldexp(std::nearbyint(std::ldexp(fraction, bits)), exponent - bits);
        REQUIRE(result[at] == convert(rounded));
      }
  };
  check_type(CUDA_R_16F, to_half, 11);
  check_type(CUDA_R_16BF, to_bfloat16, 8);
}

TEST_CASE("cuBLASLt refuses less alignment and less workspace than was promised", "[emulation]") {
  const Stream stream;
  const Sizes s{16, 8, 5, false, false};  // lda 19
  Lt lt(s, CUDA_R_16F, CUDA_R_32F, CUBLAS_COMPUTE_32F);
  const Array<std::uint16_t> a(1000);
  const Array<std::uint16_t> b(1000);
  const Array<float> d(1000);
  const Array<char> workspace(1 << 17);
  const float one = 1;
  const auto multiply = [&](const auto& found, int shift, char* at, std::size_t bytes) {
    return cublasLtMatmul(lt.handle, lt.operation, &one, a.data + shift, lt.a, b.data, lt.b, &one,
                          d.data, lt.d, d.data, lt.d, &found.algo, at, bytes, stream.id);
  };
  lt.prefer(1 << 17, 16);
  const auto found = lt.first();
  REQUIRE(found.workspaceSize > 0);
  const std::size_t bytes = found.workspaceSize;
  CHECK(multiply(found, 0, workspace.data, bytes) == CUBLAS_STATUS_SUCCESS);
  CHECK(multiply(found, 8, workspace.data, bytes) == CUBLAS_STATUS_SUCCESS);
  CHECK(multiply(found, 4, workspace.data, bytes) == CUBLAS_STATUS_NOT_SUPPORTED);
  CHECK(multiply(found, 0, workspace.data, bytes - 1) == CUBLAS_STATUS_INVALID_VALUE);
  CHECK(multiply(found, 0, workspace.data + 128, bytes) == CUBLAS_STATUS_INVALID_VALUE);
  CHECK(multiply(found, 0, nullptr, bytes) == CUBLAS_STATUS_INVALID_VALUE);
  // An algorithm for columns 16 bytes apart does not do for 19 elements of two bytes.
  cublasLtMatrixLayoutInit(lt.a, CUDA_R_16F, 16, 5, 24);
  const auto aligned = lt.first();
  CHECK(multiply(aligned, 0, workspace.data, bytes) == CUBLAS_STATUS_SUCCESS);
  cublasLtMatrixLayoutInit(lt.a, CUDA_R_16F, 16, 5, 19);
  CHECK(multiply(aligned, 0, workspace.data, bytes) == CUBLAS_STATUS_NOT_SUPPORTED);
  // The last element must be there.
  CHECK(multiply(found, 1000 - 92 + 4, workspace.data, bytes) == CUBLAS_STATUS_INVALID_VALUE);
  lt.prefer(0, 8);
  const auto modest = lt.first();
  CHECK(modest.workspaceSize == 0);
  CHECK(multiply(modest, 4, nullptr, 0) == CUBLAS_STATUS_SUCCESS);
  // For operands that are aligned to their elements alone there is no algorithm.
  lt.prefer(0, 2);
  cublasLtMatmulHeuristicResult_t none{};
  int count = 0;
  CHECK(cublasLtMatmulAlgoGetHeuristic(lt.handle, lt.operation, lt.a, lt.b, lt.d, lt.d,
                                       lt.preference, 1, &none,
                                       &count) == CUBLAS_STATUS_NOT_SUPPORTED);
  CHECK(count == 0);
}

TEST_CASE("triangular and general products of cuBLAS against plain loops", "[emulation]") {
  const Stream stream;
  const std::int64_t m = 6;
  const std::int64_t n = 5;
  auto a = entries<float>(m * m, 1);
  const auto b = entries<float>(m * n, 2);
  std::vector<float> expected(m * n, 0);
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t l = 0; l < m; ++l) {
      if (l > i) a[i + l * m] = 1e30f;  // not to be taken
      for (std::int64_t j = 0; l <= i && j < n; ++j) {
        expected[i + j * m] += (l == i ? 1.0f : a[i + l * m]) * b[l + j * m];
      }
    }
  }
  const Array<float> device_a(a, stream);
  const Array<float> device_b(b, stream);
  const Array<float> device_c(m * n);
  cublasHandle_t handle = nullptr;
  REQUIRE(cublasCreate(&handle) == CUBLAS_STATUS_SUCCESS);
  const float one = 1;
  const auto trmm = [&](float* to) {
    return cublasStrmm_64(handle, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N,
                          CUBLAS_DIAG_UNIT, m, n, &one, device_a.data, m, device_b.data, m, to, m);
  };
  CHECK(trmm(device_c.data) == CUBLAS_STATUS_NOT_INITIALIZED);  // no stream yet
  REQUIRE(cublasSetStream(handle, stream.id) == CUBLAS_STATUS_SUCCESS);
  CHECK(trmm(device_c.data + 1) == CUBLAS_STATUS_INVALID_VALUE);
  CHECK(trmm(device_c.data) == CUBLAS_STATUS_SUCCESS);
  CHECK(device_c.read(stream) == expected);
  CHECK(trmm(device_b.data) == CUBLAS_STATUS_SUCCESS);
  CHECK(device_b.read(stream) == expected);
  const auto trsm = [&](float* in) {
    return cublasStrsm_64(handle, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N,
                          CUBLAS_DIAG_UNIT, m, n, &one, device_a.data, m, in, m);
  };
  CHECK(trsm(device_b.data + 1) == CUBLAS_STATUS_INVALID_VALUE);
  CHECK(trsm(device_b.data) == CUBLAS_STATUS_SUCCESS);
  CHECK(device_b.read(stream) == b);  // integers: without rounding
  CHECK(cublasSetSmCountTarget(handle, 1) == CUBLAS_STATUS_SUCCESS);
  CHECK(cublasSetSmCountTarget(handle, 0) == CUBLAS_STATUS_SUCCESS);
  CHECK(cublasSetSmCountTarget(handle, -1) == CUBLAS_STATUS_INVALID_VALUE);
  CHECK(cublasSetSmCountTarget(handle, 1 << 20) == CUBLAS_STATUS_INVALID_VALUE);

  const Sizes s{m, n, 4, false, true};
  const auto x = entries<double>(s.a_size(), 4);
  const auto y = entries<double>(s.b_size(), 5);
  const auto z = entries<double>(s.ldc() * n, 6);
  const Array<double> device_x(x, stream);
  const Array<double> device_y(y, stream);
  const Array<double> device_z(z, stream);
  const double scalars[] = {2, -3};
  CHECK(cublasDgemm_64(handle, CUBLAS_OP_N, CUBLAS_OP_T, m, n, s.k, scalars, device_x.data, s.lda(),
                       device_y.data, s.ldb(), scalars + 1, device_z.data,
                       s.ldc()) == CUBLAS_STATUS_SUCCESS);
  CHECK(device_z.read(stream) == plain_product<double>(s, 2, x, y, -3, z));
  CHECK(cublasDestroy(handle) == CUBLAS_STATUS_SUCCESS);
}

TEST_CASE("triangular solves of cuBLAS against plain loops", "[emulation]") {
  const Stream stream;
  const std::int64_t n = 7;
  std::vector<double> u(static_cast<std::size_t>(n * n), 1e300);  // below, not to be taken
  std::vector<double> x(static_cast<std::size_t>(n));
  std::vector<double> b(x.size(), 0);
  for (std::int64_t j = 0; j < n; ++j) {
    x[j] = static_cast<double>(3 * j % 5 - 2);
    for (std::int64_t i = 0; i <= j; ++i) {
      u[i + j * n] = i == j ? 2.0 : static_cast<double>((i + 2 * j) % 4 - 1);
      b[i] += u[i + j * n] * x[j];
    }
  }
  const Array<double> device_u(u, stream);
  const Array<double> device_b(b, stream);
  cublasHandle_t handle = nullptr;
  REQUIRE(cublasCreate(&handle) == CUBLAS_STATUS_SUCCESS);
  REQUIRE(cublasSetStream(handle, stream.id) == CUBLAS_STATUS_SUCCESS);
  const auto trsv = [&](double* in, std::int64_t step) {
    return cublasDtrsv_64(handle, CUBLAS_FILL_MODE_UPPER, CUBLAS_OP_N, CUBLAS_DIAG_NON_UNIT, n,
                          device_u.data, n, in, step);
  };
  CHECK(trsv(device_b.data, 0) == CUBLAS_STATUS_INVALID_VALUE);
  CHECK(trsv(device_b.data, 2) == CUBLAS_STATUS_INVALID_VALUE);
  CHECK(trsv(device_b.data, 1) == CUBLAS_STATUS_SUCCESS);
  CHECK(device_b.read(stream) == x);
  const double minus = -1;
  for (double& value : b) value = -value;
  const Array<double> device_c(b, stream);
  CHECK(cublasDtrsm_64(handle, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_UPPER, CUBLAS_OP_N,
                       CUBLAS_DIAG_NON_UNIT, n, 1, &minus, device_u.data, n, device_c.data,
                       n) == CUBLAS_STATUS_SUCCESS);
  CHECK(device_c.read(stream) == x);
  // A library may multiply the other half by zero.
  u[1] = std::numeric_limits<double>::infinity();
  const Array<double> infinite(u, stream);
  CHECK(cublasDtrsm_64(handle, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_UPPER, CUBLAS_OP_N,
                       CUBLAS_DIAG_NON_UNIT, n, 1, &minus, infinite.data, n, device_c.data,
                       n) == CUBLAS_STATUS_SUCCESS);
  CHECK(std::isnan(device_c.read(stream).front()));
  CHECK(cublasDestroy(handle) == CUBLAS_STATUS_SUCCESS);
}

TEST_CASE("complex products and solves of cuBLAS by hand", "[emulation]") {
  const Stream stream;
  cublasHandle_t handle = nullptr;
  REQUIRE(cublasCreate(&handle) == CUBLAS_STATUS_SUCCESS);
  REQUIRE(cublasSetStream(handle, stream.id) == CUBLAS_STATUS_SUCCESS);
  // L = [1, ; i, 1] in pairs, with other numbers on and above its diagonal, which are not taken.
  const Array<double> l({9, 9, 0, 1, 9, 9, 9, 9}, stream);
  const Array<double> b({1, 2, 3, 4}, stream);
  const auto numbers = [](double* pairs) { return reinterpret_cast<cuDoubleComplex*>(pairs); };
  const cuDoubleComplex one{1, 0};
  const auto trsm = [&](cublasOperation_t operation, double* x) {
    return cublasZtrsm_64(handle, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, operation,
                          CUBLAS_DIAG_UNIT, 2, 1, &one, numbers(l.data), 2, numbers(x), 2);
  };
  CHECK(trsm(CUBLAS_OP_N, b.data + 1) == CUBLAS_STATUS_INVALID_VALUE);  // half of an element
  CHECK(trsm(CUBLAS_OP_N, b.data) == CUBLAS_STATUS_SUCCESS);
  CHECK(b.read(stream) == std::vector<double>{1, 2, 5, 3});
  CHECK(trsm(CUBLAS_OP_C, b.data) == CUBLAS_STATUS_SUCCESS);
  CHECK(b.read(stream) == std::vector<double>{-2, 7, 5, 3});
  CHECK(trsm(CUBLAS_OP_T, b.data) == CUBLAS_STATUS_SUCCESS);
  CHECK(b.read(stream) == std::vector<double>{1, 2, 5, 3});
  CHECK(cublasZtrsv_64(handle, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_C, CUBLAS_DIAG_UNIT, 2,
                       numbers(l.data), 2, numbers(b.data), 1) == CUBLAS_STATUS_SUCCESS);
  CHECK(b.read(stream) == std::vector<double>{-2, 7, 5, 3});

  const Array<float> x({1, 2}, stream);
  const Array<float> y({3, -1}, stream);
  const Array<float> z({7, 8}, stream);
  const cuComplex factors[] = {{0, 1}, {-1, 0}};
  const auto gemm = [&](float* to) {
    return cublasCgemm_64(handle, CUBLAS_OP_N, CUBLAS_OP_C, 1, 1, 1, factors,
                          reinterpret_cast<const cuComplex*>(x.data), 1,
                          reinterpret_cast<const cuComplex*>(y.data), 1, factors + 1,
                          reinterpret_cast<cuComplex*>(to), 1);
  };
  CHECK(gemm(z.data + 1) == CUBLAS_STATUS_INVALID_VALUE);
  CHECK(gemm(z.data) == CUBLAS_STATUS_SUCCESS);  // i (1 + 2 i) (3 + i) - (7 + 8 i)
  CHECK(z.read(stream) == std::vector<float>{-14, -7});
  CHECK(cublasDestroy(handle) == CUBLAS_STATUS_SUCCESS);
}
