// SPDX-License-Identifier: BSD-3-Clause
// A user's program: it solves, catches Speedwell's exceptions, and uses every function of the
// public headers.
#include <speedwell/speedwell.hpp>

#include <cmath>
#include <cstdio>
#include <stdexcept>
#include <string>

namespace {

int check(bool ok, const char* what) {
  if (!ok) std::fprintf(stderr, "consumer: %s\n", what);
  return ok ? 0 : 1;
}

bool refused(const speedwell::BenchmarkOptions& options) {
  try {
    speedwell::mxp(MPI_COMM_WORLD, options);
  } catch (const speedwell::Fault&) {
    return false;
  } catch (const speedwell::UsageError& error) {
    return std::string(error.what()).find('\n') == std::string::npos;
  }
  return false;
}

/// Uses those functions of speedwell/solve.hpp that examples/ does not use.
int solve_systems() {
  using namespace speedwell;
  int failures = 0;
  const Matrix a = Matrix::from_function(
      50, [](std::int64_t i, std::int64_t j) { return i == j ? 60. : 1. / (1. + double(i + j)); });
  SolveOptions options;
  options.precision = Precision::fp32;
  const Solution ones = solve(MPI_COMM_WORLD, a, RightHandSide::of_ones(), options);
  failures += check(ones.converged && ones.precision() == Precision::fp32, "FP32 did not solve");
  failures += check(ones.x.size() == 50 && std::abs(ones.x[49] - 1) < 1e-13, "x is not ones");
  try {
    solve(MPI_COMM_WORLD, Matrix::from_function(3, [](auto, auto) { return 1.; }),
          RightHandSide::of_ones());
    failures += check(false, "a singular matrix was solved with");
  } catch (const SingularError& error) {
    failures += check(error.pivot() == 1, "another pivot is zero");
  }
  return failures;
}

int run() {
  using namespace speedwell;
  int failures = 0;
  BenchmarkOptions options;
  options.n = 200;
  options.run.nb = 32;
  options.precision = Precision::fp16;
  std::int64_t last = 0;
  const BenchmarkResult result =
      mxp(MPI_COMM_WORLD, options, [&](const Progress& now) { last = now.columns_done; });
  failures += check(result.passed, "n = 200 did not pass");
  failures += check(result.chosen.n == 200, "another n was solved");
  failures += check(result.scaled_residual < 16, "the residual is too large");

  const BenchmarkResult second = hpl(MPI_COMM_WORLD, options);
  failures += check(second.passed && second.factored(), "HPL with n = 200 did not pass");
  failures += check(second.chosen.precision == Precision::fp64, "HPL was not in FP64");

  options.run.nprow = 99;
  options.run.npcol = 99;
  failures += check(refused(options), "99 x 99 ranks were not refused as a UsageError");

  failures += solve_systems();

  failures += check(parse<Precision>("FP16") == Precision::fp16, "FP16 is not known");
  failures += check(!parse<MatrixKind>("hilbert"), "an unknown matrix is known");
  failures += check(name(BroadcastMethod::ring) == "1ring", "1ring has another name");
  failures += check(allowed_names<RefineMethod>() == "auto, ir, gmres", "names of the methods");
  failures += check(name(GridOrder::row) == "row" && name(DeviceKind::cpu) == "cpu", "names");
  failures += check(version() == SPEEDWELL_PACKAGE_VERSION, "headers and library differ");
  failures += check(!revision().empty(), "no revision");
  return failures;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int failures = 1;
  try {
    failures = run();
  } catch (const std::runtime_error& error) {
    std::fprintf(stderr, "consumer: %s\n", error.what());
  }
  int all = 0;
  MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  return all == 0 ? 0 : 1;
}
