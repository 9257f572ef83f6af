// SPDX-License-Identifier: BSD-3-Clause
// Measures cuSOLVER on HPL-MxP's matrix scaled-diagonal, in FP64:
//   speedwell_cusolver_bench [--n N] [--method irs|getrf] [--json]
// irs: IRSXgesv, FP16 factors refined to FP64 by GMRES. getrf: Xgetrf and Xgetrs, FP64 throughout.
// Without --n it takes the largest n that fits into the free memory, IRSXgesv at most 46080. It
// prints one line.
#include <cuda_runtime.h>
#include <cusolverDn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <speedwell/error.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.hpp"
#include "core/numbers.hpp"
#include "device/cuda/check.hpp"
#include "device/cuda/lane.hpp"
#include "device/device.hpp"
#include "kernels.hpp"

namespace speedwell {

namespace {

using nlohmann::ordered_json;

constexpr std::int64_t step = 512;           // n is a multiple of this
constexpr double usable_memory = 0.97;       // the library needs memory beside its workspace
constexpr std::int64_t largest_irs = 46080;  // A has less than 2^31 elements
constexpr std::int64_t warm_up_n = 2048;     // the first call loads kernels

enum class Method { irs, getrf };

struct Options {
  std::int64_t n = 0;  ///< 0: the largest that fits
  Method method = Method::irs;
  bool json = false;
};

void require(cusolverStatus_t status, const char* call) {
  if (status != CUSOLVER_STATUS_SUCCESS)
    throw Fault(fmt::format("{} failed: cuSOLVER's status {}", call, static_cast<int>(status)));
}

struct Workspace {
  std::size_t device = 0;
  std::size_t host = 0;
};

struct Solved {
  double seconds = 0;
  std::optional<int> iterations;  ///< of the refinement; negative: the reason why it was given up
};

/// An object of a library, which one function creates and another one destroys.
template <class T>
class Handle {
 public:
  using Destroy = cusolverStatus_t (*)(T);
  Handle(cusolverStatus_t (*create)(T*), Destroy destroy, const char* call) : destroy_(destroy) {
    require(create(&handle_), call);
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() { destroy_(handle_); }
  T get() const { return handle_; }

 private:
  T handle_{};
  Destroy destroy_;
};

/// A, b and x of one order in the memory of the GPU.
struct System {
  System(Device& device, std::int64_t order)
      : n(order),
        a(device.allocate(n * n * 8)),
        b(device.allocate(n * 8)),
        x(device.allocate(n * 8)),
        pivots(device.allocate(n * 8)),
        info(device.allocate(64)) {
    spec.n = n;
    spec.stride = n | 1;
    spec.shift = std::sqrt(static_cast<double>(n));
  }
  std::int64_t n;
  MatrixSpec spec;
  Buffer a;
  Buffer b;
  Buffer x;
  Buffer pivots;
  Buffer info;
};

class Bench {
 public:
  explicit Bench(const Options& options);
  ordered_json run();

 private:
  std::int64_t largest() const;
  bool fits(std::int64_t n, double free) const;
  Workspace workspace(std::int64_t n) const;
  Solved solve(System& system, const Buffer& device_space, std::vector<std::byte>& host_space);
  Solved solve_irs(System& system, const Buffer& space);
  void require_factored(const System& system, const char* call);
  void prepare(System& system);
  Solved attempt(System& system);
  ordered_json verify(System& system);

  Options o_;
  SteadyClock clock_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Queue> queue_;
  Lane lane_;
  Handle<cusolverDnHandle_t> solver_;
  Handle<cusolverDnParams_t> params_;
  Handle<cusolverDnIRSParams_t> irs_;
};

Bench::Bench(const Options& options)
    : o_(options),
      device_(make_device({.kind = DeviceKind::cuda})),
      queue_(device_->make_queue(Priority::normal)),
      lane_(Priority::normal),
      solver_(cusolverDnCreate, cusolverDnDestroy, "cusolverDnCreate"),
      params_(cusolverDnCreateParams, cusolverDnDestroyParams, "cusolverDnCreateParams"),
      irs_(cusolverDnIRSParamsCreate, cusolverDnIRSParamsDestroy, "cusolverDnIRSParamsCreate") {
  require(cusolverDnSetStream(solver_.get(), lane_.stream()), "cusolverDnSetStream");
  require(cusolverDnIRSParamsSetRefinementSolver(irs_.get(), CUSOLVER_IRS_REFINE_GMRES),
          "cusolverDnIRSParamsSetRefinementSolver");
  require(cusolverDnIRSParamsSetSolverPrecisions(irs_.get(), CUSOLVER_R_64F, CUSOLVER_R_16F),
          "cusolverDnIRSParamsSetSolverPrecisions");
  // Mixed precision is timed, so the library must not fall back to an FP64 solution.
  require(cusolverDnIRSParamsDisableFallback(irs_.get()), "cusolverDnIRSParamsDisableFallback");
}

Workspace Bench::workspace(std::int64_t n) const {
  Workspace space;
  if (o_.method == Method::irs)
    require(cusolverDnIRSXgesv_bufferSize(solver_.get(), irs_.get(), static_cast<cusolver_int_t>(n),
                                          1, &space.device),
            "cusolverDnIRSXgesv_bufferSize");
  else
    require(cusolverDnXgetrf_bufferSize(solver_.get(), params_.get(), n, n, CUDA_R_64F, nullptr, n,
                                        CUDA_R_64F, &space.device, &space.host),
            "cusolverDnXgetrf_bufferSize");
  return space;
}

bool Bench::fits(std::int64_t n, double free) const {
  const double matrix = 8 * static_cast<double>(n) * static_cast<double>(n + 4);
  return matrix + static_cast<double>(workspace(n).device) <= usable_memory * free;
}

/// The largest n that fits, by bisection, since only cuSOLVER knows the size of its workspace.
/// IRSXgesv counts elements in 32 bits: on an H200, cuSOLVER 13 fails at n of about 100000.
std::int64_t Bench::largest() const {
  const auto free = static_cast<double>(device_->memory()->free);
  std::int64_t low = 0;
  auto high = static_cast<std::int64_t>(std::sqrt(free / 8)) / step + 1;
  if (o_.method == Method::irs) high = std::min(high, largest_irs / step + 1);
  while (high - low > 1) {
    const std::int64_t middle = (low + high) / 2;
    (fits(middle * step, free) ? low : high) = middle;
  }
  if (low == 0) throw Fault("there is too little free memory on the GPU for any size");
  return low * step;
}

void Bench::prepare(System& system) {
  check(cuda::generate_fp64(lane_.stream(), system.spec,
                            {system.a.as<double>(), system.n, system.n, system.n}),
        "generate_fp64");
  std::vector<double> b(static_cast<std::size_t>(system.n));
  for (std::int64_t i = 0; i < system.n; ++i)
    b[static_cast<std::size_t>(i)] = system.spec.right_hand_side(i);
  device_->upload(*queue_, b, system.b.as<double>());
  check(cudaStreamSynchronize(lane_.stream()), "cudaStreamSynchronize");
}

void Bench::require_factored(const System& system, const char* call) {
  int info = 0;
  check(cudaMemcpyAsync(&info, system.info.data(), sizeof(info), cudaMemcpyDeviceToHost,
                        lane_.stream()),
        "cudaMemcpyAsync");
  check(cudaStreamSynchronize(lane_.stream()), "cudaStreamSynchronize");
  if (info != 0) throw Fault(fmt::format("{} failed: info = {}", call, info));
}

Solved Bench::solve_irs(System& system, const Buffer& space) {
  const Handle<cusolverDnIRSInfos_t> infos(cusolverDnIRSInfosCreate, cusolverDnIRSInfosDestroy,
                                           "cusolverDnIRSInfosCreate");
  const auto n = static_cast<cusolver_int_t>(system.n);
  cusolver_int_t iterations = 0;
  const double begin = clock_.now();
  require(cusolverDnIRSXgesv(solver_.get(), irs_.get(), infos.get(), n, 1, system.a.data(), n,
                             system.b.data(), n, system.x.data(), n, space.data(),
                             static_cast<std::size_t>(space.bytes()), &iterations,
                             system.info.as<cusolver_int_t>()),
          "cusolverDnIRSXgesv");
  check(cudaStreamSynchronize(lane_.stream()), "cudaStreamSynchronize");
  const double seconds = clock_.now() - begin;
  require_factored(system, "cusolverDnIRSXgesv");
  return {seconds, iterations};
}

/// Xgetrs overwrites its right-hand side, so x begins as a copy of b.
Solved Bench::solve(System& system, const Buffer& device_space,
                    std::vector<std::byte>& host_space) {
  if (o_.method == Method::irs) return solve_irs(system, device_space);
  const std::int64_t n = system.n;
  const double begin = clock_.now();
  require(cusolverDnXgetrf(solver_.get(), params_.get(), n, n, CUDA_R_64F, system.a.data(), n,
                           system.pivots.as<std::int64_t>(), CUDA_R_64F, device_space.data(),
                           static_cast<std::size_t>(device_space.bytes()), host_space.data(),
                           host_space.size(), system.info.as<int>()),
          "cusolverDnXgetrf");
  require_factored(system, "cusolverDnXgetrf");
  check(cudaMemcpyAsync(system.x.data(), system.b.data(), static_cast<std::size_t>(n * 8),
                        cudaMemcpyDeviceToDevice, lane_.stream()),
        "cudaMemcpyAsync");
  require(cusolverDnXgetrs(solver_.get(), params_.get(), CUBLAS_OP_N, n, 1, CUDA_R_64F,
                           system.a.data(), n, system.pivots.as<std::int64_t>(), CUDA_R_64F,
                           system.x.data(), n, system.info.as<int>()),
          "cusolverDnXgetrs");
  require_factored(system, "cusolverDnXgetrs");
  return {clock_.now() - begin, std::nullopt};
}

Solved Bench::attempt(System& system) {
  const Workspace wanted = workspace(system.n);
  const Buffer device_space = device_->allocate(static_cast<std::int64_t>(wanted.device));
  std::vector<std::byte> host_space(wanted.host);
  prepare(system);
  return solve(system, device_space, host_space);
}

/// ||Ax-b|| / (eps (||A|| ||x|| + ||b||) n), with A generated anew in FP64.
ordered_json Bench::verify(System& system) {
  const std::int64_t n = system.n;
  const Buffer sums = device_->allocate(2 * n * 8);
  const Distribution whole(n, n, 1, 0);
  device_->multiply_generated(*queue_, system.spec, whole, whole, system.x.as<double>(),
                              sums.as<double>(), sums.as<double>() + n, nullptr);
  std::vector<double> x(static_cast<std::size_t>(n));
  std::vector<double> ax(x.size());
  std::vector<double> rows(x.size());
  device_->download(*queue_, system.x.as<double>(), x);
  device_->download(*queue_, sums.as<double>(), ax);
  device_->download(*queue_, sums.as<double>() + n, rows);
  double residual = 0;
  double norm_a = 0;
  double norm_b = 0;
  double norm_x = 0;
  bool finite = true;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double b = system.spec.right_hand_side(static_cast<std::int64_t>(i));
    finite = finite && std::isfinite(ax[i]);
    residual = std::max(residual, std::abs(ax[i] - b));
    norm_a = std::max(norm_a, rows[i]);
    norm_b = std::max(norm_b, std::abs(b));
    norm_x = std::max(norm_x, std::abs(x[i]));
  }
  const double scaled = residual / (eps * (norm_a * norm_x + norm_b) * static_cast<double>(n));
  return {{"residual_inf", residual},
          {"A_inf", norm_a},
          {"x_inf", norm_x},
          {"b_inf", norm_b},
          {"scaled_residual", finite ? ordered_json(scaled) : ordered_json()},
          {"passed", finite && scaled < 16}};
}

ordered_json Bench::run() {
  const std::int64_t n = o_.n > 0 ? o_.n : largest();
  if (n > std::numeric_limits<cusolver_int_t>::max())
    throw UsageError(fmt::format("--n {}: cuSOLVER's sizes are 32 bits", n));
  if (!fits(n, static_cast<double>(device_->memory()->free)))
    throw UsageError(fmt::format("--n {} does not fit into the GPU's free memory", n));
  {
    System small(*device_, std::min(n, warm_up_n));
    attempt(small);
  }
  System system(*device_, n);
  const Solved solved = attempt(system);
  const auto order = static_cast<double>(n);
  const double operations = 2.0 / 3 * order * order * order + 1.5 * order * order;
  ordered_json line = {
      {"method", o_.method == Method::irs ? "irs" : "getrf"},
      {"n", n},
      {"chosen", o_.n > 0 ? "given" : "the largest that fits"},
      {"seconds", solved.seconds},
      {"tflops", operations / solved.seconds / 1e12},
      {"iterations", solved.iterations ? ordered_json(*solved.iterations) : ordered_json()},
      {"workspace_bytes", workspace(n).device}};
  line.update(verify(system));
  line["device"] = device_->description();
  return line;
}

Options read_options(int argc, char** argv) {
  constexpr const char* usage =
      "usage: speedwell_cusolver_bench [--n N] [--method irs|getrf] [--json]";
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    const std::string value = i + 1 < argc ? argv[i + 1] : "";
    if (word == "--json") {
      options.json = true;
      continue;
    }
    char* end = nullptr;
    if (word == "--n" && (options.n = std::strtoll(value.c_str(), &end, 10)) > 0 && *end == '\0') {
      ++i;
    } else if (word == "--method" && (value == "irs" || value == "getrf")) {
      options.method = value == "irs" ? Method::irs : Method::getrf;
      ++i;
    } else {
      throw UsageError(usage);
    }
  }
  return options;
}

/// @return whether the residual passed
bool bench(const Options& options) {
  const ordered_json line = Bench(options).run();
  if (options.json)
    fmt::print("{}\n", line.dump());
  else
    fmt::print("{} n = {}: {:.3f} s, {:.2f} TFLOP/s, {} iterations, scaled residual {}\n",
               line["method"].get<std::string>(), line["n"].dump(), line["seconds"].get<double>(),
               line["tflops"].get<double>(), line["iterations"].dump(),
               line["scaled_residual"].dump());
  return line["passed"].get<bool>();
}

}  // namespace

}  // namespace speedwell

int main(int argc, char** argv) {
  try {
    return speedwell::bench(speedwell::read_options(argc, argv)) ? 0 : 1;
  } catch (const speedwell::UsageError& error) {
    fmt::print(stderr, "speedwell_cusolver_bench: {}\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    fmt::print(stderr, "speedwell_cusolver_bench: {}\n", error.what());
    return 3;
  }
}
