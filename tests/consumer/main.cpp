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

/// Whether the work ends in a UsageError that has these words.
template <class Work>
bool refused(const Work& work, const char* words) {
  try {
    work();
  } catch (const speedwell::UsageError& error) {
    return std::string(error.what()).find(words) != std::string::npos;
  }
  return false;
}

/// Each rank for itself, without a communicator.
int solve_alone() {
  using namespace speedwell;
  const double a[] = {4, 1, 2, 3};
  const double b[] = {8, 7};
  int failures = 0;
  const Solution s = solve(Matrix::dense(2, a, 2), RightHandSide::dense(1, b, 2));
  failures += check(std::abs(s.x[0] - 1) < 1e-15 && std::abs(s.x[1] - 2) < 1e-15, "x alone");
  Factorization factors(Matrix::dense(2, a, 2));
  const Solution t = factors.solve(RightHandSide::dense(1, b, 2), Transpose::yes);
  failures += check(std::abs(t.x[0] - 1.7) < 1e-14 && std::abs(t.x[1] - 1.2) < 1e-14, "A^T alone");

  constexpr std::int64_t large = std::int64_t{1} << 62;
  const auto with = [&](std::int64_t lda, std::int64_t ldb) {
    return [=] { solve(Matrix::dense(2, a, lda), RightHandSide::dense(2, b, ldb)); };
  };
  failures += check(refused(with(large, 2), "less than 2^63 bytes"), "lda = 2^62");
  failures += check(refused(with(2, large), "less than 2^63 bytes"), "ldb = 2^62");
  const Descriptor of_a{1, 0, 2, 2, 2, 2, 0, 0, large};
  failures += check(refused([&] { Factorization f(Matrix::block_cyclic(of_a, a)); }, "LLD_"),
                    "LLD_ = 2^62");
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
  failures += solve_alone();

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
