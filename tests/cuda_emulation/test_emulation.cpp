/// @file
/// The emulation finds the mistakes that it is there for, and computes what it should.
#include <cublasLt.h>
#include <cublas_v2.h>
#include <fcntl.h>
#include <nccl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cuda_emulation.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <deque>
#include <limits>
#include <string>
#include <vector>

#include "catch.hpp"

namespace {

using lupine::emulation::damaged_allocations;
using lupine::emulation::live_objects;
using lupine::emulation::restart;

/// What the environment says while this lives.
class Environment {
 public:
  Environment(const char* name, const std::string& value) : name_(name) {
    setenv(name, value.c_str(), 1);
    restart();
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;
  ~Environment() {
    unsetenv(name_);
    restart();
  }

 private:
  const char* name_;
};

struct Stream {
  Stream() { REQUIRE(cudaStreamCreateWithPriority(&id, cudaStreamNonBlocking, 0) == cudaSuccess); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() { cudaStreamDestroy(id); }
  void wait() const { REQUIRE(cudaStreamSynchronize(id) == cudaSuccess); }
  cudaStream_t id = nullptr;
};

template <class T>
struct Array {
  explicit Array(std::size_t count_) : count(count_) {
    REQUIRE(cudaMalloc(&data, count * sizeof(T)) == cudaSuccess);
  }
  Array(const std::vector<T>& values, const Stream& stream) : Array(values.size()) {
    REQUIRE(cudaMemcpyAsync(data, values.data(), count * sizeof(T), cudaMemcpyHostToDevice,
                            stream.id) == cudaSuccess);
  }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;
  ~Array() { cudaFree(data); }
  std::vector<T> read(const Stream& stream) const {
    std::vector<T> values(count);
    REQUIRE(cudaMemcpyAsync(values.data(), data, count * sizeof(T), cudaMemcpyDeviceToHost,
                            stream.id) == cudaSuccess);
    return values;
  }
  std::size_t count;
  T* data = nullptr;
};

template <class... Expected, class... Actual>
cudaError_t start(const Stream& stream, dim3 grid, dim3 block, void (*kernel)(Expected...),
                  Actual... actual) {
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = block;
  config.stream = stream.id;
  return cudaLaunchKernelEx(&config, kernel, actual...);
}

/// How the body ends in a process of its own: 0 if all was well there.
template <class Body>
int elsewhere(Body body) {
  const pid_t child = fork();
  if (child == 0) {
    dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);
    signal(SIGABRT, SIG_DFL);
    _exit(body());
  }
  int status = -1;
  waitpid(child, &status, 0);
  return status;
}

__global__ void add_one(float* x, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) x[i] += 1;
}

template <bool with_barrier>
__global__ void reverse(const int* from, int* to) {
  __shared__ int tile[256];
  const unsigned i = threadIdx.x;
  tile[i] = from[blockIdx.x * blockDim.x + i];
  if (with_barrier) __syncthreads();
  to[blockIdx.x * blockDim.x + i] = tile[blockDim.x - 1 - i];
}

__global__ void sum(const double* x, int n, double* result, unsigned* largest_thread) {
  __shared__ double parts[32];
  const unsigned thread = threadIdx.x + threadIdx.y * blockDim.x;
  const unsigned threads = blockDim.x * blockDim.y;
  double own = 0;
  for (int i = static_cast<int>(blockIdx.x * threads + thread); i < n;
       i += static_cast<int>(gridDim.x * threads)) {
    own += x[i];
  }
  for (int step = warpSize / 2; step > 0; step /= 2) own += __shfl_down_sync(~0u, own, step);
  if (thread % 32 == 0) parts[thread / 32] = own;
  __syncthreads();
  if (thread < 32) {
    double all = thread < threads / 32 ? parts[thread] : 0;
    for (int step = 16; step > 0; step /= 2) all += __shfl_xor_sync(~0u, all, step);
    if (__shfl_sync(~0u, thread, 5) != 5) all = -1;
    if (thread == 0) atomicAdd(result, all);
  }
  atomicMax(largest_thread, thread);
}

__global__ void write_at(float* x, std::ptrdiff_t i) {
  x[i] = 1;
}

__global__ void barrier_for_some(int n) {
  if (static_cast<int>(threadIdx.x) < n) __syncthreads();
}

/// Copies n numbers in one stream and adds one in another; how many came out wrong.
int wrong_after_copy(bool with_event, int seed) {
  const Environment environment("LUPINE_EMULATION_SEED", std::to_string(seed));
  const int n = 100;
  const Stream copies;
  const Stream kernels;
  const Array<float> x(n);
  float* host = nullptr;
  REQUIRE(cudaMallocHost(&host, n * sizeof(float)) == cudaSuccess);
  for (int i = 0; i < n; ++i) host[i] = static_cast<float>(i);
  cudaEvent_t copied = nullptr;
  REQUIRE(cudaEventCreateWithFlags(&copied, cudaEventDisableTiming) == cudaSuccess);
  REQUIRE(cudaMemcpyAsync(x.data, host, n * sizeof(float), cudaMemcpyHostToDevice, copies.id) == 0);
  REQUIRE(cudaEventRecord(copied, copies.id) == cudaSuccess);
  if (with_event) REQUIRE(cudaStreamWaitEvent(kernels.id, copied, 0) == cudaSuccess);
  REQUIRE(start(kernels, 2, 64, add_one, x.data, n) == cudaSuccess);
  kernels.wait();
  copies.wait();
  const auto result = x.read(kernels);
  int wrong = 0;
  for (int i = 0; i < n; ++i) wrong += result[i] == static_cast<float>(i + 1) ? 0 : 1;
  REQUIRE(cudaEventDestroy(copied) == cudaSuccess);
  REQUIRE(cudaFreeHost(host) == cudaSuccess);
  return wrong;
}

int wrong_after_reverse(void (*kernel)(const int*, int*), int seed) {
  const Environment environment("LUPINE_EMULATION_SEED", std::to_string(seed));
  const int n = 1024;
  const Stream stream;
  std::vector<int> values(n);
  for (int i = 0; i < n; ++i) values[i] = i * i;
  const Array<int> from(values, stream);
  const Array<int> to(n);
  REQUIRE(start(stream, n / 256, 256, kernel, from.data, to.data) == cudaSuccess);
  const auto result = to.read(stream);
  int wrong = 0;
  for (int i = 0; i < n; ++i) wrong += result[i] == values[i / 256 * 256 + 255 - i % 256] ? 0 : 1;
  return wrong;
}

}  // namespace

TEST_CASE("a missing event gives wrong results", "[emulation]") {
  int wrong = 0;
  for (int seed = 0; seed < 20; ++seed) {
    CHECK(wrong_after_copy(true, seed) == 0);
    wrong += wrong_after_copy(false, seed) > 0 ? 1 : 0;
  }
  CHECK(wrong > 3);
  CHECK(live_objects() == 0);
}

TEST_CASE("a missing barrier gives wrong results, one for some threads fails", "[emulation]") {
  int wrong = 0;
  for (int seed = 0; seed < 5; ++seed) {
    CHECK(wrong_after_reverse(reverse<true>, seed) == 0);
    wrong += wrong_after_reverse(reverse<false>, seed) > 0 ? 1 : 0;
  }
  CHECK(wrong == 5);
  CHECK(elsewhere([] {
          const Stream stream;
          if (start(stream, 3, 64, barrier_for_some, 64) != cudaSuccess) return 1;
          if (cudaStreamSynchronize(stream.id) != cudaSuccess) return 2;
          if (start(stream, 1, 64, barrier_for_some, 63) != cudaSuccess) return 3;
          if (cudaStreamSynchronize(stream.id) != cudaErrorLaunchFailure) return 4;
          return cudaGetLastError() == cudaErrorLaunchFailure ? 0 : 5;
        }) == 0);
}

TEST_CASE("kernels with barriers, shuffles and atomics", "[emulation]") {
  const int n = 5000;
  const Stream stream;
  std::vector<double> values(n);
  for (int i = 0; i < n; ++i) values[i] = i + 0.5;
  const Array<double> x(values, stream);
  const Array<double> result(std::vector<double>{0}, stream);
  const Array<unsigned> largest(std::vector<unsigned>{0}, stream);
  REQUIRE(start(stream, 7, dim3(32, 4), sum, x.data, n, result.data, largest.data) == cudaSuccess);
  CHECK(result.read(stream)[0] == n * n / 2.0);
  CHECK(largest.read(stream)[0] == 127);
}

TEST_CASE("launches have limits", "[emulation]") {
  const Stream stream;
  CHECK(start(stream, 0, 32, barrier_for_some, 0) == cudaErrorInvalidConfiguration);
  CHECK(start(stream, 1, 1025, barrier_for_some, 0) == cudaErrorInvalidConfiguration);
  CHECK(start(stream, dim3(1, 65536), 1, barrier_for_some, 0) == cudaErrorInvalidConfiguration);
  CHECK(start(stream, dim3(2, 65535), 1, barrier_for_some, 0) == cudaSuccess);
  CHECK(cudaGetLastError() == cudaErrorInvalidConfiguration);
  CHECK(cudaGetLastError() == cudaSuccess);
}

TEST_CASE("writes outside of an allocation are noticed", "[emulation]") {
  for (const std::ptrdiff_t at : {-1, 100, 1000}) {
    const auto write = [at](auto then) {
      const Stream stream;
      float* x = nullptr;
      cudaMalloc(&x, 100 * sizeof(float));
      start(stream, 1, 1, write_at, x, at);
      cudaStreamSynchronize(stream.id);
      return then(x);
    };
    CHECK(elsewhere(
        [&] { return write([](float*) { return damaged_allocations() == 1 ? 1 : 0; }); }));
    CHECK(elsewhere([&] { return write([](float* x) { return static_cast<int>(cudaFree(x)); }); }));
  }
  const Stream stream;
  const Array<float> x(100);
  REQUIRE(start(stream, 1, 1, write_at, x.data, 99) == cudaSuccess);
  stream.wait();
  CHECK(damaged_allocations() == 0);
}

TEST_CASE("memory is limited, not initialized and aligned to 256 bytes only", "[emulation]") {
  const Environment environment("LUPINE_EMULATED_MEMORY", "10000");
  const Stream stream;
  const Array<float> x(2000);
  std::size_t free = 0;
  std::size_t total = 0;
  float* more = nullptr;
  REQUIRE(cudaMemGetInfo(&free, &total) == cudaSuccess);
  CHECK(free == 2000);
  CHECK(total == 10000);
  CHECK(cudaMalloc(&more, 2001) == cudaErrorMemoryAllocation);
  CHECK(cudaGetLastError() == cudaErrorMemoryAllocation);
  CHECK(cudaMalloc(&more, ~std::size_t{0}) == cudaErrorMemoryAllocation);
  CHECK(cudaFree(more) == cudaSuccess);
  CHECK(std::isnan(x.read(stream)[1999]));
  CHECK(reinterpret_cast<std::uintptr_t>(x.data) % 512 == 256);
}

TEST_CASE("copies are checked, and deferred where memory is pinned", "[emulation]") {
  const Stream stream;
  const Array<float> x(60);
  std::vector<float> host(60, 1.0f);
  const auto copy = [&](std::size_t bytes, cudaMemcpyKind kind) {
    return cudaMemcpyAsync(x.data, host.data(), bytes, kind, stream.id);
  };
  CHECK(copy(241, cudaMemcpyHostToDevice) == cudaErrorInvalidValue);
  CHECK(copy(240, cudaMemcpyDeviceToDevice) == cudaErrorInvalidValue);
  CHECK(copy(240, cudaMemcpyDeviceToHost) == cudaErrorInvalidValue);
  CHECK(copy(static_cast<std::size_t>(-4), cudaMemcpyHostToDevice) == cudaErrorInvalidValue);
  CHECK(cudaMemcpyAsync(x.data, host.data(), 4, cudaMemcpyHostToDevice, nullptr) ==
        cudaErrorInvalidResourceHandle);
  CHECK(copy(240, cudaMemcpyHostToDevice) == cudaSuccess);
  host.assign(60, 2.0f);  // has been read
  // Column 1 and 2 of a 10 x 6 matrix, rows 3 ... 5.
  CHECK(cudaMemcpy2DAsync(x.data + 13, 40, host.data(), 12, 12, 2, cudaMemcpyDefault, stream.id) ==
        cudaSuccess);
  CHECK(cudaMemset2DAsync(x.data + 53, 40, 0, 28, 1, stream.id) == cudaSuccess);
  CHECK(cudaMemset2DAsync(x.data + 53, 40, 0, 28, 2, stream.id) == cudaErrorInvalidValue);
  CHECK(cudaMemcpy2DAsync(x.data, 40, host.data(), 12, 13, 2, cudaMemcpyDefault, stream.id) ==
        cudaErrorInvalidValue);
  const auto result = x.read(stream);
  for (int i = 0; i < 60; ++i) {
    const bool inside = i % 10 >= 3 && i % 10 <= 5 && (i / 10 == 1 || i / 10 == 2);
    CHECK(result[i] == (i >= 53 ? 0.0f : inside ? 2.0f : 1.0f));
  }
  int early = 0;
  int* flag = nullptr;
  REQUIRE(cudaMallocHost(&flag, sizeof(int)) == cudaSuccess);
  for (int i = 0; i < 30; ++i) {
    *flag = -1;
    REQUIRE(cudaMemcpyAsync(flag, x.data, 4, cudaMemcpyDeviceToHost, stream.id) == cudaSuccess);
    early += *flag == -1 ? 1 : 0;
    stream.wait();
    REQUIRE(*flag != -1);
  }
  CHECK(early == 30);
  CHECK(cudaFreeHost(flag) == cudaSuccess);
}

TEST_CASE("events tell the time and whether they are done", "[emulation]") {
  const Stream stream;
  cudaEvent_t events[2];
  for (auto& event : events) {
    REQUIRE(cudaEventCreateWithFlags(&event, cudaEventDefault) == cudaSuccess);
    REQUIRE(cudaEventRecord(event, stream.id) == cudaSuccess);
  }
  while (cudaEventQuery(events[1]) == cudaErrorNotReady) {
  }
  float elapsed = -1;
  CHECK(cudaEventElapsedTime(&elapsed, events[0], events[1]) == cudaSuccess);
  CHECK(elapsed >= 0);
  for (auto& event : events) CHECK(cudaEventDestroy(event) == cudaSuccess);
  CHECK(cudaEventSynchronize(events[0]) == cudaErrorInvalidResourceHandle);
}

TEST_CASE("errors can be asked for, and there may be no device", "[emulation]") {
  {
    const Environment environment("LUPINE_EMULATED_FAILURE", "cudaMemsetAsync:2");
    const Stream stream;
    const Array<float> x(10);
    CHECK(cudaMemsetAsync(x.data, 0, 40, stream.id) == cudaSuccess);
    CHECK(cudaMemsetAsync(x.data, 0, 40, stream.id) == cudaErrorLaunchFailure);
    CHECK(cudaStreamSynchronize(stream.id) == cudaErrorLaunchFailure);
    CHECK(cudaGetLastError() == cudaErrorLaunchFailure);
    CHECK(cudaGetLastError() == cudaErrorLaunchFailure);
  }
  {
    const Environment environment("LUPINE_EMULATED_FAILURE", "cudaMalloc:1:2");
    float* x = nullptr;
    CHECK(cudaMalloc(&x, 40) == cudaErrorMemoryAllocation);
    CHECK(cudaMalloc(&x, 40) == cudaSuccess);
    CHECK(cudaFree(x) == cudaSuccess);
  }
  const Environment environment("LUPINE_EMULATED_GPUS", "0");
  int count = -1;
  CHECK(cudaGetDeviceCount(&count) == cudaErrorNoDevice);
  CHECK(count == 0);
  CHECK(live_objects() == 0);
}

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
  cublasLtMatmulDesc_t operation = nullptr;
  cublasLtMatrixLayout_t a = nullptr;
  cublasLtMatrixLayout_t b = nullptr;
  cublasLtMatrixLayout_t d = nullptr;
  cublasLtMatmulPreference_t preference = nullptr;

  Lt(const Sizes& s, cudaDataType in, cudaDataType out, cublasComputeType_t compute) {
    REQUIRE(cublasLtCreate(&handle) == CUBLAS_STATUS_SUCCESS);
    REQUIRE(cublasLtMatmulDescCreate(&operation, compute, out) == CUBLAS_STATUS_SUCCESS);
    const cublasOperation_t ta = s.ta ? CUBLAS_OP_T : CUBLAS_OP_N;
    const cublasOperation_t tb = s.tb ? CUBLAS_OP_T : CUBLAS_OP_N;
    cublasLtMatmulDescSetAttribute(operation, CUBLASLT_MATMUL_DESC_TRANSA, &ta, sizeof(ta));
    cublasLtMatmulDescSetAttribute(operation, CUBLASLT_MATMUL_DESC_TRANSB, &tb, sizeof(tb));
    cublasLtMatrixLayoutCreate(&a, in, s.ta ? s.k : s.m, s.ta ? s.m : s.k, s.lda());
    cublasLtMatrixLayoutCreate(&b, in, s.tb ? s.n : s.k, s.tb ? s.k : s.n, s.ldb());
    cublasLtMatrixLayoutCreate(&d, out, s.m, s.n, s.ldc());
    REQUIRE(cublasLtMatmulPreferenceCreate(&preference) == CUBLAS_STATUS_SUCCESS);
  }
  Lt(const Lt&) = delete;
  Lt& operator=(const Lt&) = delete;
  ~Lt() {
    cublasLtMatmulPreferenceDestroy(preference);
    for (auto* layout : {a, b, d}) cublasLtMatrixLayoutDestroy(layout);
    cublasLtMatmulDescDestroy(operation);
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
    // Inputs lose what TF32 does not hold.
    check_product<float, float>(s, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32, beta,
                                device, [](float x) { return x * (1 + 0x1p-11f); });
  }
  CHECK(live_objects() == 0);
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
  cublasLtMatrixLayoutDestroy(lt.a);
  cublasLtMatrixLayoutCreate(&lt.a, CUDA_R_16F, 16, 5, 24);
  const auto aligned = lt.first();
  CHECK(multiply(aligned, 0, workspace.data, bytes) == CUBLAS_STATUS_SUCCESS);
  cublasLtMatrixLayoutDestroy(lt.a);
  cublasLtMatrixLayoutCreate(&lt.a, CUDA_R_16F, 16, 5, 19);
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
      if (l > i) a[i + l * m] = std::numeric_limits<float>::quiet_NaN();  // not to be read
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
  std::vector<double> u(static_cast<std::size_t>(n * n), std::numeric_limits<double>::quiet_NaN());
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
  CHECK(cublasDestroy(handle) == CUBLAS_STATUS_SUCCESS);
}

namespace {

/// Messages of a length that tells sender, receiver and turn, between all pairs of ranks and to
/// oneself, two a pair in one group. Returns the wrong ones, and what was refused or not wrongly.
int exchange_messages(ncclComm_t comm, int ranks, int rank, const Stream& stream) {
  const auto length = [](int from, int to, int turn) { return 10 + from + 10 * to + 100 * turn; };
  std::deque<Array<int>> out;
  std::deque<Array<int>> in;
  int wrong = 0;
  for (int peer = 0; peer < ranks; ++peer) {
    for (int turn = 0; turn < 2; ++turn) {
      const int sent = length(rank, peer, turn);
      out.emplace_back(std::vector<int>(static_cast<std::size_t>(sent), sent), stream);
      in.emplace_back(static_cast<std::size_t>(length(peer, rank, turn)));
    }
  }
  wrong += ncclSend(out[0].data, 1, ncclInt32, 0, comm, stream.id) == ncclInvalidUsage ? 0 : 1;
  wrong += ncclGroupStart() == ncclSuccess ? 0 : 1;
  for (int i = 0; i < 2 * ranks; ++i) {
    const Array<int>& to = out[static_cast<std::size_t>(i)];
    const Array<int>& from = in[static_cast<std::size_t>(i)];
    if (ncclSend(to.data, to.count, ncclInt32, i / 2, comm, stream.id) != ncclSuccess) ++wrong;
    if (ncclRecv(from.data, from.count, ncclInt32, i / 2, comm, stream.id) != ncclSuccess) ++wrong;
  }
  wrong += ncclGroupEnd() == ncclSuccess ? 0 : 1;
  for (const Array<int>& one : in) {
    for (const int value : one.read(stream)) wrong += value == static_cast<int>(one.count) ? 0 : 1;
  }
  wrong += ncclGroupEnd() == ncclInvalidUsage ? 0 : 1;
  return wrong;
}

/// Three broadcasts from each rank in turn, and messages; 0 if all that arrived is right. Rank 0
/// waits for word from the others before it waits for its GPU, which must have gone on meanwhile.
int exchange(const ncclUniqueId& id, int ranks, int rank, const int (&word)[2]) {
  ncclComm_t comm = nullptr;
  if (ncclCommInitRank(&comm, ranks, id, rank) != ncclSuccess) return 1;
  const Stream stream;
  int wrong = 0;
  {
    const std::vector<float> zeros(100, 0);
    const Array<float> x(zeros, stream);
    for (int i = 0; i < 3 * ranks; ++i) {
      const bool root = i % ranks == rank;
      if (root) start(stream, 1, 128, add_one, x.data, 100);
      if (ncclBroadcast(x.data, x.data, 100, ncclFloat32, i % ranks, comm, stream.id) != 0) ++wrong;
    }
    char received = 0;
    for (int i = 1; rank == 0 && i < ranks; ++i) wrong += read(word[0], &received, 1) == 1 ? 0 : 1;
    const auto result = x.read(stream);
    if (rank != 0) wrong += write(word[1], &received, 1) == 1 ? 0 : 1;
    for (const float value : result) {
      wrong += value == static_cast<float>(3 * ranks) ? 0 : 1;
    }
  }
  wrong += exchange_messages(comm, ranks, rank, stream);
  // A broadcast that never comes: giving up ends the wait for it.
  const bool waits = rank != 0;
  const Array<float> y(10);
  if (waits) wrong += ncclBroadcast(y.data, y.data, 10, ncclFloat, 0, comm, stream.id) == 0 ? 0 : 1;
  if (waits) wrong += cudaStreamQuery(stream.id) == cudaErrorNotReady ? 0 : 1;
  if ((waits ? ncclCommAbort(comm) : ncclCommDestroy(comm)) != ncclSuccess) ++wrong;
  if (cudaStreamSynchronize(stream.id) != cudaSuccess) ++wrong;
  return wrong == 0 ? 0 : 2;
}

}  // namespace

TEST_CASE("broadcasts and messages between processes", "[emulation]") {
  const int ranks = 3;
  ncclUniqueId id;
  REQUIRE(ncclGetUniqueId(&id) == ncclSuccess);
  int word[2];
  REQUIRE(pipe(word) == 0);
  std::vector<pid_t> children;
  for (int rank = 0; rank < ranks; ++rank) {
    children.push_back(fork());
    if (children.back() == 0) _exit(exchange(id, ranks, rank, word));
  }
  for (const pid_t child : children) {
    int status = -1;
    waitpid(child, &status, 0);
    CHECK(status == 0);
  }
  for (const int end : word) close(end);
  CHECK(access(id.internal, F_OK) != 0);
}
