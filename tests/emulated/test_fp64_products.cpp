// SPDX-License-Identifier: BSD-3-Clause
// Which FP64 products cuBLAS emulates by integers: what Speedwell tells each handle decides, and
// never the environment.
#include <cuda_emulation.hpp>
#include <speedwell/error.hpp>
#include <speedwell/solve.hpp>

#include <algorithm>
#include <string>
#include <vector>

#include "bench/benchmark_runner.hpp"
#include "catch.hpp"
#include "cuda_emulation/bench.hpp"
#include "device_choice.hpp"
#include "setup/footprint.hpp"

namespace speedwell::test::fp64_products_tests {
using emulation::Environment;

namespace {

constexpr std::int64_t n = 333;

BenchmarkOptions hpl_options(Fp64Products fp64, int lookahead, std::int64_t nb = 40) {
  BenchmarkOptions options;
  options.benchmark = Benchmark::hpl;
  options.n = n;
  options.run.nb = nb;
  options.run.lookahead = lookahead;
  options.run.fp64 = fp64;
  options.run.device = device_choice().device;
  options.run.comm = device_choice().comm;
  return options;
}

struct Outcome {
  BenchmarkResult result;
  long emulated = 0;   // products, on this rank
  long too_small = 0;  // workspaces
  double most = 0;     // bytes of device memory
  double announced = 0;
};

Outcome outcome_of(const BenchmarkOptions& options) {
  const long emulated = emulation::calls_of("emulated product");
  const long too_small = emulation::calls_of("workspace too small");
  const ResidentMeter resident;
  BenchmarkRunner runner(MPI_COMM_WORLD, options);
  Outcome o;
  o.result = runner.run().result;
  o.emulated = emulation::calls_of("emulated product") - emulated;
  o.too_small = emulation::calls_of("workspace too small") - too_small;
  o.most = runner.peak(resident).device->bytes;
  o.announced = rank_bytes(runner.setup().lu);
  return o;
}

void check_same_bits(const BenchmarkResult& a, const BenchmarkResult& b) {
  CHECK(a.norms.residual == b.norms.residual);
  CHECK(a.norms.x == b.norms.x);
  CHECK(a.scaled_residual == b.scaled_residual);
}

}  // namespace

TEST_CASE("the environment does not make native FP64 products emulated ones") {
  for (const int lookahead : {0, 1}) {
    CAPTURE(lookahead);
    const BenchmarkOptions options = hpl_options(Fp64Products::native, lookahead);
    const Outcome plain = outcome_of(options);
    const Environment emulate("CUBLAS_EMULATE_DOUBLE_PRECISION", "1");
    const Environment eager("CUBLAS_EMULATION_STRATEGY", "eager");
    const Environment bits("CUBLAS_FIXEDPOINT_EMULATION_MANTISSA_BIT_COUNT", "30");
    const Outcome told = outcome_of(options);
    CHECK(told.emulated == 0);
    CHECK(told.result.passed);
    CHECK(told.result.admissible);
    check_same_bits(told.result, plain.result);
  }
}

TEST_CASE("emulated FP64 products: their number of bits is told, and the memory is announced") {
  for (const int lookahead : {0, 1})
    for (const std::int64_t nb : {8, 40}) {
      CAPTURE(lookahead, nb);
      const BenchmarkOptions options = hpl_options(Fp64Products::emulated, lookahead, nb);
      const Outcome asked = outcome_of(options);
      CHECK(asked.emulated > 0);
      CHECK(asked.too_small == 0);
      CHECK(asked.most <= asked.announced);
      CHECK(asked.result.passed);
      CHECK_FALSE(asked.result.admissible);
      const std::vector<std::string>& notes = asked.result.notes;
      CHECK(std::any_of(notes.begin(), notes.end(), [](const std::string& note) {
        return note.find("not a plain FP64 HPL: FP64 products are emulated") != std::string::npos;
      }));
      const Environment bits("CUBLAS_FIXEDPOINT_EMULATION_MANTISSA_BIT_COUNT", "30");
      check_same_bits(outcome_of(options).result, asked.result);
    }
}

TEST_CASE("a solve's FP64 step takes emulated products, and other steps have none") {
  const Matrix a = Matrix::from_function(n, [](std::int64_t i, std::int64_t j) {
    return i == j ? 20. : 1. / static_cast<double>(1 + i + 2 * j);
  });
  SolveOptions options;
  options.run = hpl_options(Fp64Products::emulated, 1).run;
  for (const Precision precision : {Precision::fp64, Precision::fp32}) {
    CAPTURE(name(precision));
    options.precision = precision;
    const long before = emulation::calls_of("emulated product");
    const Solution solution = solve(MPI_COMM_WORLD, a, RightHandSide::of_ones(), options);
    CHECK(solution.converged);
    CHECK(solution.chosen.fp64 == Fp64Products::emulated);
    CHECK(solution.fp64_products.find("CUBLAS_EMULATION_STRATEGY_EAGER") != std::string::npos);
    CHECK((emulation::calls_of("emulated product") > before) == (precision == Precision::fp64));
  }
}
}  // namespace speedwell::test::fp64_products_tests
