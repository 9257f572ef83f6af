// SPDX-License-Identifier: BSD-3-Clause
#include <speedwell/benchmark.hpp>
#include <speedwell/error.hpp>

#include <cmath>
#include <functional>
#include <new>
#include <string>
#include <typeinfo>
#include <vector>

#include "bench/benchmark_runner.hpp"
#include "bench/campaign.hpp"
#include "catch.hpp"
#include "comm/agreement.hpp"
#include "comm/communicator.hpp"
#include "device_choice.hpp"
#include "world.hpp"

namespace speedwell::test::bench_tests {
namespace {

template <class Problem>
std::string words(const Communicator& all, const std::function<void()>& work) {
  try {
    agree(all, work);
  } catch (const Problem& problem) {
    return problem.what();
  }
  return "";
}

/// The text of the first rank. Checks that all ranks have the same text.
std::string common(const Communicator& all, const std::string& text) {
  const std::vector<std::string> texts = all.all_gather(text);
  for (const std::string& other : texts)
    if (other != texts.front()) return "different on some rank";
  return texts.front();
}

BenchmarkOptions small_options() {
  BenchmarkOptions options;
  options.n = 150;
  options.run.nb = 16;
  options.precision = Precision::fp16;
  options.run.threads = 1;
  options.run.device = test::device_choice().device;
  options.run.comm = test::device_choice().comm;
  return options;
}

}  // namespace

TEST_CASE("an exception of one rank is thrown on all ranks", "[bench]") {
  const Communicator all = world();
  const int last = all.size() - 1;
  CHECK(words<Error>(all, [] {}).empty());
  CHECK(common(all, words<UsageError>(all, [&] {
                 if (all.rank() == last) throw UsageError("bad input");
               })) == (last > 0 ? "rank " + std::to_string(last) + ": " : "") + "bad input");
  CHECK(common(all, words<UsageError>(all, [] { throw UsageError("bad input"); })) == "bad input");
  const std::string other = common(
      all, words<UsageError>(all, [&] { throw UsageError(all.rank() == 0 ? "here" : "there"); }));
  CHECK(other == (last > 0 ? "rank 0: here" : "here"));
  const std::string several = common(all, words<UsageError>(all, [&] {
                                       if (all.rank() > 0) throw UsageError("bad input");
                                     }));
  if (last > 1) CHECK(several == "rank 1 and " + std::to_string(last - 1) + " more: bad input");
  const std::string fault = common(all, words<AgreedFault>(all, [&] {
                                     if (all.rank() == last) throw std::bad_alloc();
                                   }));
  CHECK_THAT(fault, ContainsSubstring("rank " + std::to_string(last) + " on "));
  const std::string both = common(all, words<Error>(all, [&] {
                                    if (all.rank() == last) throw Fault("no memory");
                                    throw UsageError("bad input");
                                  }));
  CHECK_THAT(both, ContainsSubstring("no memory"));
}

TEST_CASE("agreed() returns the result of the work, and on_rank_0() runs it on rank 0", "[bench]") {
  const Communicator all = world();
  CHECK(agreed(all, [&] { return all.rank(); }) == all.rank());
  int done = 0;
  on_rank_0(all, [&] { ++done; });
  CHECK(done == (all.rank() == 0 ? 1 : 0));
  CHECK_THROWS_AS(on_rank_0(all, [] { throw UsageError("no"); }), UsageError);
  CHECK_THROWS_WITH(on_rank_0(all, [] { throw UsageError("no"); }), "no");
}

template <class Error>
void require_told(const Communicator& all) {
  const auto some = [&] {
    if (2 * all.rank() < all.size()) throw Error("no");
  };
  try {
    tell_others(all, some);
    FAIL("no error");
  } catch (const speedwell::Error& error) {
    CHECK(typeid(error) == typeid(Error));
    CHECK(error.what() == std::string("no"));
  }
}

TEST_CASE("ranks that take no part in work are told its error, of the same kind", "[bench]") {
  const Communicator all = world();
  int done = 0;
  tell_others(all, [&] { ++done; });
  CHECK(done == 1);
  require_told<UsageError>(all);
  require_told<NotEnoughMemory>(all);
  require_told<AgreedFault>(all);
  require_told<OutOfMemory>(all);
}

TEST_CASE("a run of the benchmark passes and has the same result on every rank", "[bench]") {
  const Communicator all = world();
  const BenchmarkResult result = mxp(MPI_COMM_WORLD, small_options());
  CHECK(result.passed);
  CHECK(result.admissible);
  CHECK(result.scaled_residual < 16);
  CHECK(result.chosen.run.nprow * result.chosen.run.npcol == all.size());
  CHECK(result.gflops > 0);
  CHECK(result.lu_gflops > result.gflops);
  CHECK(result.history.size() == static_cast<std::size_t>(result.iterations));
  CHECK(common(all, std::to_string(result.scaled_residual)) ==
        std::to_string(result.scaled_residual));
  CHECK(common(all, std::to_string(result.seconds)) == std::to_string(result.seconds));
  CHECK(result.update.maximum >= result.update.average);
}

TEST_CASE("a run of HPL passes, whatever the options say of its method", "[bench]") {
  const Communicator all = world();
  BenchmarkOptions options = small_options();
  options.leaf = 4;
  options.ndiv = 3;
  options.run.lookahead = 1;
  const BenchmarkResult result = hpl(MPI_COMM_WORLD, options);
  CHECK(result.passed);
  CHECK(result.admissible);
  CHECK(result.factored());
  CHECK(result.chosen.precision == Precision::fp64);
  CHECK(result.chosen.pivoting == Pivoting::partial);
  CHECK(result.chosen.matrix == MatrixKind::hpl);
  CHECK(result.iterations == 0);
  CHECK(result.gflops > 0);
  CHECK(common(all, std::to_string(result.norms.x)) == std::to_string(result.norms.x));
  CHECK(result.rows.maximum >= result.rows.average);

  options.threshold = result.scaled_residual / 2;
  CHECK_FALSE(hpl(MPI_COMM_WORLD, options).passed);
  options.threshold = 0;
  const BenchmarkResult unchecked = hpl(MPI_COMM_WORLD, options);
  CHECK(unchecked.passed);
  CHECK_FALSE(unchecked.admissible);
  CHECK(std::isnan(unchecked.scaled_residual));
}

TEST_CASE("HPL-MxP with pivoting solves a matrix that needs pivoting", "[bench]") {
  BenchmarkOptions options = small_options();
  options.matrix = MatrixKind::hpl;
  options.precision = Precision::fp32;
  CHECK_THROWS_WITH(mxp(MPI_COMM_WORLD, options), ContainsSubstring("--pivot partial"));
  options.pivoting = Pivoting::partial;
  const BenchmarkResult result = mxp(MPI_COMM_WORLD, options);
  CHECK(result.passed);
  CHECK_FALSE(result.admissible);
  CHECK(result.chosen.leaf > 0);
}

TEST_CASE("every rank learns that the matrix is singular", "[bench]") {
  const Communicator all = world();
  BenchmarkOptions options = small_options();
  options.n = 1;
  options.seed = 13792291969850005339u;  // gives a_00 = 0
  const BenchmarkResult result = hpl(MPI_COMM_WORLD, options);
  CHECK_FALSE(result.passed);
  CHECK(common(all, std::to_string(result.bad_pivot)) == "0");
  CHECK(std::isnan(result.norms.x));
  CHECK(result.gflops == 0);
}

TEST_CASE("a campaign runs on grids of several sizes, and all ranks learn the outcome", "[bench]") {
  const Communicator all = world();
  std::vector<BenchmarkOptions> configurations;
  for (int ranks = 1; ranks <= all.size(); ++ranks) {
    configurations.push_back(small_options());
    configurations.back().run.nprow = 1;
    configurations.back().run.npcol = ranks;
  }
  std::vector<int> columns;
  const auto note = [&](const Setup& setup, const BenchmarkRun& run, int, const RunTrace&) {
    CHECK(run.result.chosen.run.npcol == setup.options.run.npcol);
    columns.push_back(setup.options.run.npcol);
  };
  Campaign campaign(all, configurations);
  for (std::size_t i = 0; i < campaign.size(); ++i) CHECK(campaign.run(i, 2, {}, {}, note) == 2);
  CHECK(columns.size() == (all.rank() == 0 ? 2 * configurations.size() : 0));

  configurations.front().n = std::int64_t{1} << 40;
  CHECK_THROWS_WITH(Campaign(all, configurations), ContainsSubstring("does not fit"));
  CHECK_THROWS_AS(Campaign(all, configurations), UsageError);

  configurations = {small_options()};
  configurations.front().n = 0;
  Campaign bounded(all, configurations, 99);
  CHECK(
      bounded.run(0, 1, {}, {}, [](const Setup& setup, const BenchmarkRun&, int, const RunTrace&) {
        CHECK(setup.options.n == 99);
      }) == 1);
}

TEST_CASE("a campaign chooses what a configuration leaves open, whatever another one gives",
          "[bench]") {
  std::vector<BenchmarkOptions> configurations;
  for (const int leaf : {3, 0, 5}) {
    configurations.push_back(small_options());
    configurations.back().benchmark = Benchmark::hpl;
    configurations.back().leaf = leaf;
  }
  const std::vector<Setup> setups = Campaign(world(), configurations).setups();
  CHECK(setups[0].lu.leaf == 3);
  CHECK(setups[1].lu.leaf == BenchmarkRunner(MPI_COMM_WORLD, configurations[1]).setup().lu.leaf);
  CHECK(setups[2].options.leaf == 5);
  CHECK(setups[0].reasons.leaf.empty());
  CHECK_THAT(setups[1].reasons.leaf, ContainsSubstring("table"));
  CHECK(setups[2].reasons.leaf.empty());
}

TEST_CASE("two runs of one setup give the same numbers", "[bench]") {
  BenchmarkRunner bench(MPI_COMM_WORLD, small_options());
  const BenchmarkResult first = bench.run().result;
  const BenchmarkResult second = bench.run().result;
  CHECK(first.passed);
  CHECK(first.norms.x == second.norms.x);
  CHECK(first.history == second.history);
}

TEST_CASE("first steps are timed with any tuning that fits, with one result on all ranks",
          "[bench]") {
  const Communicator all = world();
  BenchmarkRunner bench(MPI_COMM_WORLD, small_options());
  for (const Tuning& tuning : {Tuning{16, 1, 0}, Tuning{8, 3, 20}, Tuning{24, 0, 1000}}) {
    REQUIRE(bench.retune(tuning, 40));
    const FirstSteps steps = bench.first_steps(40);
    CHECK(steps.rate > 0);
    CHECK(steps.generation > 0);
    CHECK(steps.factorization > 0);
    CHECK(common(all, std::to_string(steps.rate)) == std::to_string(steps.rate));
  }
  CHECK_FALSE(bench.retune({16, 1, 0}, 150));
  CHECK_FALSE(bench.retune({150, 1, 0}, 40));
  CHECK(bench.setup().lu.nb == 24);
  CHECK(bench.run().result.passed);
}

TEST_CASE("progress comes from rank 0 and ends at n", "[bench]") {
  const Communicator all = world();
  std::int64_t columns = 0;
  std::int64_t calls = 0;
  mxp(MPI_COMM_WORLD, small_options(), [&](const Progress& progress) {
    CHECK(progress.n == 150);
    CHECK(progress.columns_done > columns);
    columns = progress.columns_done;
    ++calls;
  });
  CHECK(columns == (all.rank() == 0 ? 150 : 0));
  CHECK((calls > 0) == (all.rank() == 0));
}

TEST_CASE("options that are not allowed are refused on every rank", "[bench]") {
  BenchmarkOptions options = small_options();
  options.n = -1;
  CHECK_THROWS_AS(mxp(MPI_COMM_WORLD, options), UsageError);
  options = small_options();
  options.run.nprow = 100;
  options.run.npcol = 100;
  CHECK_THROWS_AS(mxp(MPI_COMM_WORLD, options), UsageError);
  options = small_options();
  options.n = std::int64_t{1} << 40;
  CHECK_THROWS_WITH(mxp(MPI_COMM_WORLD, options), ContainsSubstring("does not fit"));
  CHECK_THROWS_AS(mxp(MPI_COMM_WORLD, options), NotEnoughMemory);
}

TEST_CASE("ranks with different options are refused", "[bench]") {
  const Communicator all = world();
  if (all.size() == 1) return;
  BenchmarkOptions options = small_options();
  options.seed = static_cast<std::uint64_t>(all.rank());
  CHECK_THROWS_WITH(mxp(MPI_COMM_WORLD, options), ContainsSubstring("other options"));
}

TEST_CASE("a dominant matrix is not admissible, and of order 1 has no factors", "[bench]") {
  BenchmarkOptions options = small_options();
  options.matrix = MatrixKind::dominant;
  const BenchmarkResult result = mxp(MPI_COMM_WORLD, options);
  CHECK(result.passed);
  CHECK_FALSE(result.admissible);
  CHECK_FALSE(result.notes.empty());
  options.n = 1;
  options.run.nb = 1;
  const BenchmarkResult singular = mxp(MPI_COMM_WORLD, options);
  CHECK_FALSE(singular.passed);
  CHECK(singular.bad_pivot == 0);
  CHECK(singular.gflops == 0);
}

TEST_CASE("too few iterations end in a failed run", "[bench]") {
  BenchmarkOptions options = small_options();
  options.matrix = MatrixKind::fasi_higham;
  options.kappa = 1e8;
  options.refine = RefineMethod::ir;
  options.max_iterations = 1;
  const BenchmarkResult result = mxp(MPI_COMM_WORLD, options);
  CHECK_FALSE(result.passed);
  CHECK(result.iterations == 1);
  CHECK_FALSE(result.admissible);
}
}  // namespace speedwell::test::bench_tests
