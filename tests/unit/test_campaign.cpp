// SPDX-License-Identifier: BSD-3-Clause
#include "bench/campaign.hpp"

#include <speedwell/error.hpp>

#include <string>
#include <vector>

#include "catch.hpp"

namespace speedwell::test::campaign_tests {
namespace {

/// An HPL.dat with two values in every list, including those of PFACT and RFACT.
HplDat two_of_each(const std::string& path) {
  HplDat dat;
  dat.path = path;
  dat.n = {100, 200};
  dat.nb = {8, 16};
  dat.order = GridOrder::column;
  dat.p = {1, 2};
  dat.q = {2, 1};
  dat.threshold = 3;
  dat.pfact = dat.rfact = {PanelFactor::left, PanelFactor::right};
  dat.nbmin = {2, 4};
  dat.ndiv = {2, 3};
  dat.broadcast = {BroadcastMethod::ring, BroadcastMethod::ibcast};
  dat.depth = {0, 1};
  return dat;
}

BenchmarkOptions base(Benchmark benchmark, Pivoting pivoting = Pivoting::none) {
  BenchmarkOptions options;
  options.benchmark = benchmark;
  options.pivoting = pivoting;
  options.seed = 7;
  return options;
}

template <class Change>
std::string refusal(const std::string& path, Change change) {
  HplDat dat = two_of_each(path);
  change(dat);
  try {
    configurations(dat, base(Benchmark::hpl), 2);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("configurations come in HPL's order, grids first and NDIV last") {
  const auto all = configurations(two_of_each("HPL.dat"), base(Benchmark::hpl), 2);
  REQUIRE(all.size() == 128);  // 2^7: PFACT and RFACT make no runs of their own
  const BenchmarkOptions& first = all.front();
  CHECK((first.run.nprow == 1 && first.run.npcol == 2 && first.n == 100 && first.run.nb == 8));
  CHECK((first.run.lookahead == 0 && first.run.broadcast == BroadcastMethod::ring));
  CHECK((first.leaf == 2 && first.ndiv == 2 && first.threshold == 3 && first.seed == 7));
  CHECK(first.run.order == GridOrder::column);
  CHECK(all[1].ndiv == 3);
  CHECK((all[2].ndiv == 2 && all[2].leaf == 4));
  CHECK(all[4].run.broadcast == BroadcastMethod::ibcast);
  CHECK(all[8].run.lookahead == 1);
  CHECK(all[16].run.nb == 16);
  CHECK(all[32].n == 200);
  CHECK((all[64].run.nprow == 2 && all[64].run.npcol == 1));
}

TEST_CASE("without pivoting NBMIN and NDIV make no runs of their own") {
  const HplDat dat = two_of_each("HPL.dat");
  const auto plain = configurations(dat, base(Benchmark::mxp), 2);
  CHECK(plain.size() == 32);
  CHECK(plain.back().leaf == 0);
  CHECK(configurations(dat, base(Benchmark::mxp, Pivoting::partial), 2).size() == 128);
}

TEST_CASE("a look-ahead above 1 is taken as 1") {
  HplDat dat = two_of_each("HPL.dat");
  dat.depth = {2, 2147483647};
  for (const BenchmarkOptions& options : configurations(dat, base(Benchmark::hpl), 2))
    CHECK(options.run.lookahead == 1);
}

TEST_CASE(
    "grids of too many ranks and values beyond Speedwell's limits are refused with their line") {
  CHECK(refusal("a.dat", [](HplDat&) {}).empty());
  CHECK(refusal("a.dat", [](HplDat& dat) {
          dat.q = {2, 2};
        }) == "a.dat lines 11-12: -P 2 x -Q 2 is 4 ranks, but 2 run; allowed: at most 2");
  CHECK(refusal("", [](HplDat& dat) {
          dat.q = {2, 2};
        }) == "-P 2 x -Q 2 is 4 ranks, but 2 run; allowed: at most 2");
  CHECK(refusal("a.dat", [](HplDat& dat) { dat.p = dat.q = {2147483647}; }) ==
        "a.dat lines 11-12: -P 2147483647 x -Q 2147483647 is 4611686014132420609 ranks, but 2 run; "
        "allowed: at most 2");
  CHECK(refusal("a.dat", [](HplDat& dat) { dat.nbmin = {4097}; }) ==
        "a.dat line 17: 4097 is not allowed; allowed: a whole number from 1 to 4096");
  CHECK(refusal("a.dat", [](HplDat& dat) { dat.ndiv = {65}; }) ==
        "a.dat line 19: 65 is not allowed; allowed: a whole number from 2 to 64");
  CHECK(refusal("", [](HplDat& dat) { dat.n.assign(100000, 1); }).rfind("the lists make ", 0) == 0);
}

TEST_CASE("the first run that failed represents all runs, or else the fastest one") {
  std::vector<Measured> all(2);
  const auto add = [](Measured& measured, double gflops, bool passed) {
    BenchmarkRun run;
    run.result.gflops = gflops;
    run.result.passed = passed;
    measured.runs.push_back(run);
  };
  add(all[0], 1, true);
  add(all[0], 3, true);
  add(all[1], 2, true);
  CHECK(representative(all).run.result.gflops == 3);
  add(all[1], 0, false);
  add(all[1], 9, false);
  CHECK(representative(all).run.result.gflops == 0);
  CHECK(&representative(all).setup == &all[1].setup);
}
}  // namespace speedwell::test::campaign_tests
