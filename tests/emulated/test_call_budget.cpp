// SPDX-License-Identifier: BSD-3-Clause
// What a second solve of the same order, with A on the GPU, asks of CUDA and its libraries, and
// that it leaves nothing there.
#include <cuda_emulation.hpp>
#include <speedwell/solve.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "catch.hpp"
#include "comm/communicator.hpp"
#include "cuda_emulation/bench.hpp"
#include "device_choice.hpp"

namespace speedwell::test::call_budget_tests {
namespace {

/// A function, and how often a second solve calls it at most, by the precision of its factors. What
/// makes or gives back a resource is kept from the first one. The device waits as a whole once: for
/// whoever has written A.
struct Budget {
  const char* function;
  long fp64;
  long fp16;
};

constexpr std::array budgets{
    Budget{"cudaMalloc", 0, 0},
    Budget{"cudaFree", 0, 0},
    Budget{"cudaMallocHost", 0, 0},
    Budget{"cudaStreamCreateWithPriority", 0, 0},
    Budget{"cuGreenCtxCreate", 0, 0},
    Budget{"cublasCreate", 0, 0},
    Budget{"cublasLtCreate", 0, 0},
    Budget{"cublasLtMatmulAlgoGetHeuristic", 0, 0},
    Budget{"cudaGetDeviceProperties", 0, 0},
    Budget{"cudaMemGetInfo", 4, 4},
    Budget{"cudaDeviceSynchronize", 1, 1},
    Budget{"cudaStreamSynchronize", 129, 182},
    Budget{"cudaEventSynchronize", 10, 10},
    Budget{"cudaMemcpyAsync", 50, 74},
    Budget{"cudaMemcpy2DAsync", 10, 10},
    Budget{"cudaLaunchKernelEx", 975, 1832},
};

std::vector<long> calls() {
  std::vector<long> counts;
  counts.reserve(budgets.size());
  for (const Budget& budget : budgets) counts.push_back(emulation::calls_of(budget.function));
  return counts;
}

}  // namespace

TEST_CASE("a second solve of an order keeps to its budget of calls", "[budget]") {
  if (ranks_in(MPI_COMM_WORLD) > 1) return;
  constexpr std::int64_t n = 300;
  std::vector<double> a(n * n);
  for (std::int64_t k = 0; k < n * n; ++k)
    a[static_cast<std::size_t>(k)] =
        static_cast<double>(k * 37 % 101 - 50) / 64 + (k % (n + 1) == 0 ? 8 : 0);
  std::vector<double> b(n, 0);  // exact row sums: x is 1
  for (std::int64_t k = 0; k < n * n; ++k)
    b[static_cast<std::size_t>(k % n)] += a[static_cast<std::size_t>(k)];
  const emulation::Stream stream;
  const emulation::Array<double> on_gpu(a, stream);
  stream.wait();
  release();
  const std::size_t without_solves = emulation::live_objects();
  for (const Precision precision : {Precision::fp64, Precision::fp16}) {
    SolveOptions options;
    options.run.device = DeviceKind::cuda;
    options.precision = precision;
    const auto solved = [&] {
      return solve(MPI_COMM_SELF, Matrix::dense(n, on_gpu.data, n),
                   RightHandSide::dense(1, b.data(), n), options);
    };
    solved();
    const std::vector<long> before = calls();
    const std::size_t objects = emulation::live_objects();
    const Solution second = solved();
    const std::vector<long> after = calls();
    CAPTURE(name(precision));
    CHECK(second.converged);
    CHECK(std::ranges::all_of(second.x, [](double x) { return std::fabs(x - 1) < 1e-13; }));
    CHECK(emulation::live_objects() == objects);
    for (std::size_t i = 0; i < budgets.size(); ++i) {
      CAPTURE(budgets[i].function);
      CHECK(after[i] - before[i] <=
            (precision == Precision::fp64 ? budgets[i].fp64 : budgets[i].fp16));
    }
  }
  release();
  CHECK(emulation::live_objects() == without_solves);
}
}  // namespace speedwell::test::call_budget_tests
