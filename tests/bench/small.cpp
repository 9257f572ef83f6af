// SPDX-License-Identifier: BSD-3-Clause
// Times small systems, each solved alone in one call: LAPACK's dgesv and dgesvx, speedwell_dgesv,
// speedwell_dgesvx with a result, speedwell::solve, a solve with a Factorization, and
// speedwell::solve with a block size, which takes the solver that large systems have. Orders are
// arguments; `--smoke` runs two tiny ones once, only to see that all runs. `--pause S` times dgesv
// and speedwell_dgesv alone, in turns, each call after a pause of S seconds, as programs make them;
// `--shifted` adds 2 sqrt(n) to the diagonal of A. Set OMP_NUM_THREADS for another number of
// threads than that of all cores.
#include <speedwell.h>
#include <speedwell/speedwell.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <optional>
#include <random>
#include <string_view>
#include <thread>
#include <vector>

#include "core/clock.hpp"

extern "C" {
void dgesv_(const int* n, const int* nrhs, double* a, const int* lda, int* pivots, double* b,
            const int* ldb, int* info);
void dgesvx_(const char* factored, const char* transposed, const int* n, const int* nrhs, double* a,
             const int* lda, double* lu, const int* ldlu, int* pivots, char* scaled, double* rows,
             double* columns, double* b, const int* ldb, double* x, const int* ldx, double* rcond,
             double* ferr, double* berr, double* work, int* iwork, int* info, std::size_t,
             std::size_t, std::size_t);
}

namespace {

using Numbers = std::vector<double>;

Numbers random_numbers(std::int64_t count) {
  std::mt19937_64 bits(static_cast<std::uint64_t>(count));
  Numbers all(static_cast<std::size_t>(count));
  for (double& value : all) value = static_cast<double>(bits() >> 11) * 0x1p-52 - 1;
  return all;
}

double median(Numbers values) {
  const auto middle = values.begin() + std::ssize(values) / 2;
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// The median of the seconds of `work`, whose input `prepare` makes; the first run is not counted.
template <class Prepare, class Work>
double median_seconds(bool smoke, const Prepare& prepare, const Work& work) {
  const speedwell::SteadyClock clock;
  const double begin = clock.now();
  Numbers seconds;
  for (int run = 0; run < 2 || (!smoke && (run < 6 || clock.now() - begin < 0.4)); ++run) {
    prepare();
    const double start = clock.now();
    work();
    if (run > 0) seconds.push_back(clock.now() - start);
  }
  return median(std::move(seconds));
}

void require(bool solved) {
  if (!solved) throw speedwell::Fault("a system was not solved");
}

/// LAPACK's solvers, which overwrite A and b.
class Lapack {
 public:
  Lapack(const Numbers& a, const Numbers& b)
      : a_(a),
        b_(b),
        n_(static_cast<int>(b.size())),
        lu_(a.size()),
        x_(b.size()),
        scales_(2 * b.size()),
        work_(4 * b.size()),
        pivots_(2 * b.size()) {}

  void prepare() {
    now_a_ = a_;
    now_b_ = b_;
  }
  void dgesv() {
    int info = 0;
    dgesv_(&n_, &one_, now_a_.data(), &n_, pivots_.data(), now_b_.data(), &n_, &info);
    require(info == 0);
  }
  void dgesvx() {
    int info = 0;
    char scaled = 'N';
    double rcond = 0;
    double ferr = 0;
    double berr = 0;
    dgesvx_("E", "N", &n_, &one_, now_a_.data(), &n_, lu_.data(), &n_, pivots_.data(), &scaled,
            scales_.data(), scales_.data() + n_, now_b_.data(), &n_, x_.data(), &n_, &rcond, &ferr,
            &berr, work_.data(), pivots_.data() + n_, &info, 1, 1, 1);
    require(info == 0);
  }

 private:
  const Numbers& a_;
  const Numbers& b_;
  int n_;
  int one_ = 1;
  Numbers now_a_, now_b_, lu_, x_, scales_, work_;
  std::vector<int> pivots_;
};

/// A, column by column: uniform numbers in [-1, 1), and 2 sqrt(n) on the diagonal where it is
/// shifted.
Numbers matrix(std::int64_t n, bool shifted) {
  Numbers a = random_numbers(n * n);
  const double shift = shifted ? 2 * std::sqrt(static_cast<double>(n)) : 0;
  for (std::int64_t i = 0; i < n; ++i) a[static_cast<std::size_t>(i * (n + 1))] += shift;
  return a;
}

/// Medians and best times of dgesv and speedwell_dgesv, called in turns with pauses.
void time_pauses(std::int64_t n, bool smoke, bool shifted, double pause) {
  constexpr int calls = 31;
  const Numbers a = matrix(n, shifted);
  const Numbers b = random_numbers(n);
  Numbers x;
  Lapack lapack(a, b);
  const speedwell::SteadyClock clock;
  const auto seconds = [&](const auto& work) {
    std::this_thread::sleep_for(std::chrono::duration<double>(pause));
    const double start = clock.now();
    work();
    return clock.now() - start;
  };
  Numbers theirs;
  Numbers ours;
  for (int call = 0; call < (smoke ? 2 : 1 + calls); ++call) {
    lapack.prepare();
    x = b;
    const double of_lapack = seconds([&] { lapack.dgesv(); });
    const double of_speedwell =
        seconds([&] { require(speedwell_dgesv(n, 1, a.data(), n, x.data(), n) == 0); });
    if (call == 0) continue;
    theirs.push_back(of_lapack);
    ours.push_back(of_speedwell);
  }
  const double best[] = {*std::ranges::min_element(theirs), *std::ranges::min_element(ours)};
  const double medians[] = {median(std::move(theirs)), median(std::move(ours))};
  std::printf("%6lld %13.4f %13.4f %13.2f %13.4f %13.4f %13.2f\n", static_cast<long long>(n),
              1e3 * medians[0], 1e3 * medians[1], medians[0] / medians[1], 1e3 * best[0],
              1e3 * best[1], best[0] / best[1]);
  std::fflush(stdout);
}

void time_order(std::int64_t n, bool smoke, bool shifted) {
  using speedwell::Matrix, speedwell::RightHandSide, speedwell::SolveOptions;
  const Numbers a = matrix(n, shifted);
  const Numbers b = random_numbers(n);
  Numbers x = b;
  Lapack lapack(a, b);
  speedwell_result result;
  const auto prepare = [&] {
    x = b;
    speedwell_result_init(&result, sizeof result);
    lapack.prepare();
  };
  const auto milliseconds = [&](const auto& work) {
    std::printf(" %13.4f", 1e3 * median_seconds(smoke, prepare, work));
    std::fflush(stdout);
  };
  const auto time_solve = [&](const SolveOptions& options) {
    milliseconds([&] {
      require(speedwell::solve(MPI_COMM_SELF, Matrix::dense(n, a.data(), n),
                               RightHandSide::dense(1, b.data(), n), options)
                  .converged);
    });
  };
  std::printf("%6lld", static_cast<long long>(n));
  milliseconds([&] { lapack.dgesv(); });
  milliseconds([&] { lapack.dgesvx(); });
  milliseconds([&] { require(speedwell_dgesv(n, 1, a.data(), n, x.data(), n) == 0); });
  milliseconds(
      [&] { require(speedwell_dgesvx(n, 1, a.data(), n, x.data(), n, nullptr, &result) == 0); });
  time_solve({});
  speedwell::Factorization factors(MPI_COMM_SELF, Matrix::dense(n, a.data(), n));
  milliseconds([&] { require(factors.solve(RightHandSide::dense(1, b.data(), n)).converged); });
  SolveOptions in_blocks;
  in_blocks.run.nb = std::min<std::int64_t>(n, 128);
  in_blocks.run.device = speedwell::DeviceKind::cpu;
  time_solve(in_blocks);
  std::printf("\n");
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::int64_t> orders;
  bool smoke = false;
  bool shifted = false;
  std::optional<double> pause;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--smoke")
      smoke = true;
    else if (word == "--shifted")
      shifted = true;
    else if (word == "--pause" && i + 1 < argc)
      pause = std::atof(argv[++i]);
    else
      orders.push_back(std::atoll(argv[i]));
  }
  if (orders.empty())
    orders = smoke ? std::vector<std::int64_t>{1, 20}
                   : std::vector<std::int64_t>{10, 50, 100, 200, 300, 500, 700, 1000, 1500, 2000};
  MPI_Init(&argc, &argv);
  int status = EXIT_SUCCESS;
  try {
    std::printf("milliseconds\n%6s", "n");
    const std::vector<const char*> columns =
        pause ? std::vector{"dgesv median", "speedwell median", "ratio",
                            "dgesv best",   "speedwell best",   "ratio"}
              : std::vector{"dgesv",   "dgesvx",   "speedwell_dgesv", "speedwell_dgesvx",
                            "solve()", "factored", "solve(), nb"};
    for (const char* what : columns) std::printf(" %13s", what);
    std::printf("\n");
    for (const std::int64_t n : orders)
      if (pause)
        time_pauses(n, smoke, shifted, *pause);
      else
        time_order(n, smoke, shifted);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "speedwell_small_bench: %s\n", error.what());
    status = EXIT_FAILURE;
  }
  MPI_Finalize();
  return status;
}
