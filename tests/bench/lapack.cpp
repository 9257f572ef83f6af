// HPL-MxP and HPL beside LAPACK's dgesv and dsgesv, interleaved, best of several, and beside the
// products that bound them. LAPACK takes the matrix of HPL-MxP.
//   lupine_lapack_bench [n] [repeats] [nb of HPL-MxP] [nb of HPL]
// One JSON object on standard output.
#include <cblas.h>
#include <lapacke.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <limits>
#include <lupine/benchmark.hpp>
#include <nlohmann/json.hpp>
#include <vector>

#include "comm/communicator.hpp"
#include "core/clock.hpp"
#include "device/cpu/processor.hpp"
#include "element/matrix_spec.hpp"

using namespace lupine;

namespace {

std::vector<double> whole(const MatrixSpec& spec) {
  std::vector<double> a(static_cast<std::size_t>(spec.n * spec.n));
  for (std::int64_t j = 0; j < spec.n; ++j) {
    std::uint64_t state = spec.state(0, j);
    for (std::int64_t i = 0; i < spec.n; ++i, state = Affine{}(state))
      a[static_cast<std::size_t>(i + j * spec.n)] =
          i == j ? spec.diagonal_entry(i, uniform(state)) : uniform(state);
  }
  return a;
}

// One way to solve the system, and the best of its times.
struct Contestant {
  const char* name;
  std::function<double()> seconds;
  double best = std::numeric_limits<double>::infinity();
};

class Bench {
 public:
  Bench(std::int64_t n, std::int64_t nb, std::int64_t hpl_nb) {
    options_.n = n;
    options_.nb = nb;
    hpl_options_.n = n;
    hpl_options_.nb = hpl_nb;
    MatrixSpec spec;
    spec.n = n;
    spec.stride = n | 1;
    spec.shift = std::sqrt(static_cast<double>(n));
    a_ = whole(spec);
    for (std::int64_t i = 0; i < n; ++i) b_.push_back(spec.right_hand_side(i));
  }

  double mxp_seconds() {
    result_ = mxp(MPI_COMM_WORLD, options_);
    return result_.passed ? result_.seconds : std::numeric_limits<double>::infinity();
  }

  double hpl_seconds() {
    hpl_result_ = hpl(MPI_COMM_WORLD, hpl_options_);
    return hpl_result_.passed ? hpl_result_.seconds : std::numeric_limits<double>::infinity();
  }

  double lapack_seconds(bool mixed) {
    std::vector<double> a = a_;
    std::vector<double> b = b_;
    std::vector<double> x(b.size());
    const auto n = static_cast<lapack_int>(b.size());
    std::vector<lapack_int> pivots(b.size());
    lapack_int iterations = 0;
    const double begin = clock_.now();
    const lapack_int info =
        mixed ? LAPACKE_dsgesv(LAPACK_COL_MAJOR, n, 1, a.data(), n, pivots.data(), b.data(), n,
                               x.data(), n, &iterations)
              : LAPACKE_dgesv(LAPACK_COL_MAJOR, n, 1, a.data(), n, pivots.data(), b.data(), n);
    const double seconds = clock_.now() - begin;
    return info == 0 && iterations >= 0 ? seconds : std::numeric_limits<double>::infinity();
  }

  // A product that bounds: C -= L U with K = 512, as if all of the benchmark's operations ran at
  // its rate. FP32's is an emulated update's, FP64's is HPL's.
  template <class T>
  double product_seconds() const {
    const int n = static_cast<int>(std::min<std::size_t>(b_.size(), 8192));
    const std::vector<T> l(static_cast<std::size_t>(n) * 512, T{0.5});
    std::vector<T> c(static_cast<std::size_t>(n) * static_cast<std::size_t>(n), T{1});
    double best = std::numeric_limits<double>::infinity();
    for (int call = 0; call < 4; ++call) {  // the first finds cold memory
      const double begin = clock_.now();
      if constexpr (sizeof(T) == sizeof(double))
        cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, n, n, 512, -1, l.data(), n, l.data(),
                    512, 1, c.data(), n);
      else
        cblas_sgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, n, n, 512, -1, l.data(), n, l.data(),
                    512, 1, c.data(), n);
      best = std::min(best, clock_.now() - begin);
    }
    return best * flops() / (2. * n * n * 512);
  }

  double flops() const {
    const auto n = static_cast<double>(b_.size());
    return n * n * (2. / 3. * n + 1.5);
  }
  const BenchmarkResult& result() const { return result_; }
  const BenchmarkResult& hpl_result() const { return hpl_result_; }

 private:
  SteadyClock clock_;
  BenchmarkOptions options_;
  std::vector<double> a_;
  std::vector<double> b_;
  BenchmarkResult result_;
  BenchmarkOptions hpl_options_;
  BenchmarkResult hpl_result_;
};

}  // namespace

int main(int argc, char** argv) {
  const MpiSession session(argc, argv);
  const std::int64_t n = argc > 1 ? std::atoll(argv[1]) : 4096;
  const int repeats = argc > 2 ? std::atoi(argv[2]) : 3;
  const auto block = [&](int i) { return argc > i ? std::atoll(argv[i]) : 0; };
  Bench bench(n, block(3), block(4));
  std::vector<Contestant> all{{"mxp", [&] { return bench.mxp_seconds(); }},
                              {"hpl", [&] { return bench.hpl_seconds(); }},
                              {"dgesv", [&] { return bench.lapack_seconds(false); }},
                              {"dsgesv", [&] { return bench.lapack_seconds(true); }},
                              {"sgemm", [&] { return bench.product_seconds<float>(); }},
                              {"dgemm", [&] { return bench.product_seconds<double>(); }}};
  for (int r = 0; r < repeats; ++r)
    for (Contestant& c : all) c.best = std::min(c.best, c.seconds());

  const BenchmarkResult& last = bench.result();
  nlohmann::ordered_json report{{"n", n},
                                {"nb", last.chosen.nb},
                                {"precision", name(last.chosen.precision)},
                                {"threads", last.chosen.threads},
                                {"repeats", repeats},
                                {"processor", processor_info().model},
                                {"blas", blas_description()},
                                {"scaled_residual", last.scaled_residual},
                                {"hpl_nb", bench.hpl_result().chosen.nb},
                                {"hpl_scaled_residual", bench.hpl_result().scaled_residual},
                                {"refinement_share", last.refine_seconds / last.seconds}};
  for (const Contestant& c : all) report["gflops"][c.name] = bench.flops() / c.best / 1e9;
  for (const Contestant& c : all) report["mxp_over"][c.name] = c.best / all[0].best;
  for (const Contestant& c : all) report["hpl_over"][c.name] = c.best / all[1].best;
  std::cout << report.dump(2) << '\n';
}
