// SPDX-License-Identifier: BSD-3-Clause
// Times small systems, each solved alone in one call: LAPACK's dgesv, lupine_dgesv, lupine_dgesvx
// with a result, lupine::solve, and lupine::solve with a block size, which takes the solver that
// large systems have. Orders are arguments; `--smoke` runs two tiny ones once, only to see that all
// runs. Set OMP_NUM_THREADS for another number of threads than that of all cores.
#include <lupine.h>
#include <lupine/lupine.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <random>
#include <string_view>
#include <vector>

#include "core/clock.hpp"

extern "C" void dgesv_(const int* n, const int* nrhs, double* a, const int* lda, int* pivots,
                       double* b, const int* ldb, int* info);

namespace {

using Numbers = std::vector<double>;

Numbers random_numbers(std::int64_t count) {
  std::mt19937_64 bits(static_cast<std::uint64_t>(count));
  Numbers all(static_cast<std::size_t>(count));
  for (double& value : all) value = static_cast<double>(bits() >> 11) * 0x1p-52 - 1;
  return all;
}

/// The median of the seconds of `work`, whose input `prepare` makes; the first run is not counted.
template <class Prepare, class Work>
double median_seconds(bool smoke, const Prepare& prepare, const Work& work) {
  const lupine::SteadyClock clock;
  const double begin = clock.now();
  Numbers seconds;
  for (int run = 0; run < 2 || (!smoke && (run < 6 || clock.now() - begin < 0.4)); ++run) {
    prepare();
    const double start = clock.now();
    work();
    if (run > 0) seconds.push_back(clock.now() - start);
  }
  const auto middle = seconds.begin() + std::ssize(seconds) / 2;
  std::nth_element(seconds.begin(), middle, seconds.end());
  return *middle;
}

void require(bool solved) {
  if (!solved) throw lupine::Fault("a system was not solved");
}

void time_order(std::int64_t n, bool smoke) {
  const Numbers a = random_numbers(n * n);
  const Numbers b = random_numbers(n);
  Numbers overwritten_a = a;
  Numbers x = b;
  const auto fresh = [&] { x = b; };
  std::vector<int> pivots(static_cast<std::size_t>(n));
  const double lapack = median_seconds(
      smoke, [&] { overwritten_a = a, x = b; },
      [&] {
        const int order = static_cast<int>(n);
        const int one = 1;
        int info = 0;
        dgesv_(&order, &one, overwritten_a.data(), &order, pivots.data(), x.data(), &order, &info);
        require(info == 0);
      });
  const double dgesv = median_seconds(
      smoke, fresh, [&] { require(lupine_dgesv(n, 1, a.data(), n, x.data(), n) == 0); });
  lupine_result result;
  const double dgesvx = median_seconds(
      smoke,
      [&] {
        fresh();
        lupine_result_init(&result, sizeof result);
      },
      [&] { require(lupine_dgesvx(n, 1, a.data(), n, x.data(), n, nullptr, &result) == 0); });
  const auto solve_with = [&](const lupine::SolveOptions& options) {
    return median_seconds(smoke, fresh, [&] {
      require(lupine::solve(MPI_COMM_SELF, lupine::Matrix::dense(n, a.data(), n),
                            lupine::RightHandSide::dense(1, b.data(), n), options)
                  .converged);
    });
  };
  const double solve = solve_with({});
  lupine::SolveOptions in_blocks;
  in_blocks.run.nb = std::min<std::int64_t>(n, 128);
  in_blocks.run.device = lupine::DeviceKind::cpu;
  const double blocks = solve_with(in_blocks);
  lupine::Factorization factors(MPI_COMM_SELF, lupine::Matrix::dense(n, a.data(), n));
  const double again = median_seconds(smoke, fresh, [&] {
    require(factors.solve(lupine::RightHandSide::dense(1, b.data(), n)).converged);
  });
  std::printf("%6lld %12.4f %14.4f %14.4f %12.4f %16.4f %12.4f\n", static_cast<long long>(n),
              lapack * 1e3, dgesv * 1e3, dgesvx * 1e3, solve * 1e3, again * 1e3, blocks * 1e3);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::int64_t> orders;
  bool smoke = false;
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--smoke")
      smoke = true;
    else
      orders.push_back(std::atoll(argv[i]));
  }
  if (orders.empty())
    orders = smoke ? std::vector<std::int64_t>{1, 20}
                   : std::vector<std::int64_t>{10, 50, 100, 200, 300, 500, 700, 1000, 1500, 2000};
  MPI_Init(&argc, &argv);
  int status = EXIT_SUCCESS;
  try {
    std::printf("%6s %12s %14s %14s %12s %16s %12s\n", "n", "dgesv", "lupine_dgesv",
                "lupine_dgesvx", "solve()", "factored solve()", "solve(), nb");
    std::printf("%6s %12s\n", "", "ms");
    for (const std::int64_t n : orders) time_order(n, smoke);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "lupine_small_bench: %s\n", error.what());
    status = EXIT_FAILURE;
  }
  MPI_Finalize();
  return status;
}
