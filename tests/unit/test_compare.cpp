// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "catch.hpp"
#include "compare/comparison.hpp"
#include "report/compare_report.hpp"
#include "setup/sizing.hpp"

namespace speedwell::test::compare_tests {
namespace {

/// Seconds of a solve of n = 1000 at this rate.
double seconds_at(double gflops) {
  return benchmark_flops(1000) / gflops / 1e9;
}

ComparedSolver entry(SolverKind solver, Precision precision, const std::string& ceiling,
                     const std::vector<double>& gflops) {
  ComparedSolver one;
  one.solver = solver;
  one.precision = precision;
  one.ceiling = ceiling;
  one.threads = 2;
  for (const double rate : gflops)
    one.turns.push_back({seconds_at(rate), seconds_at(rate) / 10, 0.5, ""});
  return one;
}

/// A comparison in which HPL-MxP reaches 100 GFLOP/s on two ranks and dgesv 40 on one, dsgesv
/// fails, and HPL does not fit.
Comparison some_comparison() {
  Comparison all;
  all.n = 1000;
  all.solvers = {
      entry(SolverKind::mxp, Precision::bf16, "update bf16", {80, 100, 90}),
      entry(SolverKind::hpl, Precision::fp64, "dgemm", {}),
      entry(SolverKind::dgesv, Precision::fp64, "dgemm", {40, 20, 30}),
      entry(SolverKind::dsgesv, Precision::fp32, "sgemm", {70, 500, 70}),
  };
  all.solvers[0].ranks = 2;
  all.solvers[0].nb = 128;
  all.solvers[1].skipped = "it does not fit";
  all.solvers[2].turns[0].refine_seconds = unknown;
  all.solvers[3].turns[1].failure = "it gave up";
  all.ceilings = {
      {"dgemm", "GFLOP/s", "hpl, dgesv", 2, 2, {100, 60}},
      {"sgemm", "GFLOP/s", "dsgesv", 2, 2, {200}},
      {"update bf16", "GFLOP/s", "mxp bf16", 2, 2, {190, 200}},
      {"memory triad", "GB/s", "exchanges", 2, 2, {}, "out of memory"},
      {"memory read", "GB/s", "solves", 2, 2, {5000, 6000}},
  };
  return all;
}

/// Levels of which O3 has found no factors.
Comparison level_comparison() {
  Comparison all;
  all.n = 1000;
  all.gallery = GalleryKind::shifted;
  for (const Level level : {Level::fp64, Level::o2, Level::o3}) {
    const bool wide = level == Level::fp64;
    ComparedSolver one =
        entry(SolverKind::solve, wide ? Precision::fp64 : Precision::fp16, "", {100});
    one.level = level;
    one.lu_bytes = 0x1p30;
    one.turns[0].x_is_known = true;
    one.turns[0].scaled_residual = unknown;
    one.turns[0].matrix = {7, 0};
    if (level == Level::o3) {
      one.turns[0].failure = "no factors";
    } else {
      one.turns[0].corrections = 2;
      one.turns[0].first_error = 1e-3;
      one.turns[0].error = 1e-14;
      one.turns[0].factors = {0, 3};
    }
    all.solvers.push_back(one);
  }
  return all;
}

/// A comparison on a user's system: bf16 has failed in solve, and dsgesv has fallen back.
Comparison gallery_comparison() {
  Comparison all;
  all.n = 1000;
  all.gallery = GalleryKind::graded;
  all.solvers = {entry(SolverKind::solve, Precision::fp32, "", {20, 40}),
                 entry(SolverKind::dgesv, Precision::fp64, "dgemm", {50, 80}),
                 entry(SolverKind::dsgesv, Precision::fp32, "sgemm", {20}),
                 entry(SolverKind::dgesvx, Precision::fp64, "dgemm", {})};
  Turn& best = all.solvers[0].turns[1];
  best.seconds = 0.5;
  best.refine_seconds = 0.05;
  best.check_seconds = 0.1;
  best.steps = {{Precision::bf16, false, "it was not accurate", 0.25, 0.125, 7, -1},
                {Precision::fp32, true, "", 0.0625, 0.03125, 2, -1}};
  all.solvers[0].turns[0].seconds = 0.75;
  all.solvers[1].turns[0].seconds = 0.125;
  all.solvers[1].turns[1].seconds = 0.25;
  for (Turn& turn : all.solvers[1].turns) turn.refine_seconds = unknown;
  all.solvers[2].turns[0].note = "fell back";
  all.solvers[3].skipped = "too large";
  return all;
}

std::string line_with(const std::string& text, const std::string& start) {
  const auto at = text.find("\n" + start);
  return at == text.npos ? "" : text.substr(at + 1, text.find('\n', at + 1) - at - 1);
}

/// The text with each run of spaces made one space.
std::string squeezed(std::string text) {
  const auto both = [](char a, char b) { return a == ' ' && b == ' '; };
  text.erase(std::unique(text.begin(), text.end(), both), text.end());
  return text;
}

/// The report as JSON, of a run on one host.
nlohmann::ordered_json json_of(const Comparison& all) {
  Setup setup;
  setup.machine.hosts = {"host"};
  return json_of_comparisons(setup, {all}, 3, 0, "speedwell compare", {"a note"});
}

std::string head_of(const CompareOptions& who) {
  Setup setup;
  setup.machine.hosts = {"host"};
  return compare_head(setup, who, {1000}, 2, {});
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (auto at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++found;
  return found;
}

}  // namespace

TEST_CASE("the median is the value in the middle, or the mean of the two there") {
  CHECK(std::isnan(median({})));
  CHECK(median({3}) == 3);
  CHECK(median({5, 1, 3}) == 3);
  CHECK(median({4, 1, 8, 2}) == 3);
}

TEST_CASE("times, ratios and shares of solvers") {
  const Comparison all = some_comparison();
  const auto& [mxp, hpl, dgesv, dsgesv] =
      std::tie(all.solvers[0], all.solvers[1], all.solvers[2], all.solvers[3]);
  CHECK(best_seconds(mxp) == seconds_at(100));
  CHECK(median_seconds(mxp) == seconds_at(90));
  CHECK(ratio_to_dgesv(mxp, all) == Approx(2.5));
  CHECK(ratio_to_dgesv(dgesv, all) == Approx(1));
  // Two ranks are compared with the ceiling of two ranks, one rank with half of it.
  CHECK(share_of_ceiling(mxp, all) == Approx(0.5));
  CHECK(share_of_ceiling(dgesv, all) == Approx(0.8));

  // A solver that failed once has no times, whatever its other turns were; nor has one that was
  // skipped, which does not fail.
  CHECK_FALSE(all.passed());
  for (const ComparedSolver& one : {dsgesv, hpl}) {
    CHECK_FALSE(one.passed());
    CHECK(std::isnan(best_seconds(one)));
    CHECK(std::isnan(median_seconds(one)));
    CHECK(std::isnan(ratio_to_dgesv(one, all)));
    CHECK(std::isnan(share_of_ceiling(one, all)));
  }

  Comparison alone = all;
  alone.solvers.resize(2);
  alone.ceilings.clear();
  CHECK(alone.passed());
  CHECK(std::isnan(ratio_to_dgesv(alone.solvers[0], alone)));
  CHECK(std::isnan(share_of_ceiling(alone.solvers[0], alone)));
}

TEST_CASE("the tables of a comparison") {
  const std::string text = compare_tables(some_comparison());
  CHECK(squeezed(line_with(text, "solver ")) ==
        "solver type nb r x thr best, s median, s GFLOP/s /dgesv share of ceiling refine residual "
        "verdict");
  CHECK(squeezed(line_with(text, "mxp ")) ==
        "mxp bf16 128 2 x 2 0.006682 0.007424 100.00 2.50 50.0 % update bf16 10.0 % 5.00e-01 "
        "PASSED");
  CHECK(squeezed(line_with(text, "hpl ")) == "hpl fp64 - 1 x 2 - - - - - dgemm - - skipped");
  CHECK(squeezed(line_with(text, "dsgesv ")) == "dsgesv fp32 - 1 x 2 - - - - - sgemm - - FAILED");
  CHECK(squeezed(line_with(text, "dgemm ")) == "dgemm 2 x 2 100.00 80.00 GFLOP/s hpl, dgesv");
  CHECK(squeezed(line_with(text, "memory triad ")) == "memory triad 2 x 2 - - GB/s exchanges");
  CHECK_THAT(text, ContainsSubstring("- hpl: is skipped: it does not fit\n"));
  CHECK_THAT(text, ContainsSubstring("- dsgesv: FAILED in round 2: it gave up\n"));
  CHECK_THAT(text, ContainsSubstring("- memory triad: FAILED: out of memory\n"));
  CHECK(count(text, "FAILED") == 3);
  // Columns are as wide as what stands in them: numbers on the right, text on the left.
  const std::string names = line_with(text, "solver ");
  CHECK(names.find("nb ") + 2 == line_with(text, "mxp ").find("128 ") + 3);
  CHECK(names.find("best, s ") + 7 == line_with(text, "mxp ").find("0.006682 ") + 8);
  CHECK(names.find("of ceiling") == line_with(text, "mxp ").find("update bf16"));
  CHECK(names.find("of ceiling") == line_with(text, "hpl ").find("dgemm"));
}

TEST_CASE("the table of a user's system") {
  const Comparison all = gallery_comparison();
  CHECK(all.passed());
  CHECK(median_seconds(all.solvers[0]) == 0.625);
  const std::string text = compare_tables(all);
  CHECK(squeezed(line_with(text, "solve ")) ==
        "solve fp32 1 x 2 0.5 0.625 1.34 0.25 10.0 % 20.0 % 5.00e-01 PASSED");
  CHECK(squeezed(line_with(text, "dgesv ")) ==
        "dgesv fp64 1 x 2 0.125 0.1875 5.35 1.00 - - 5.00e-01 PASSED");
  CHECK(squeezed(line_with(text, "dgesvx ")) == "dgesvx fp64 1 x 2 - - - - - - - skipped");
  CHECK(line_with(text, "- solve") ==
        "- solve: failed in bf16, 0.375 s (it was not accurate); solved in fp32, 0.09375 s");
  CHECK(line_with(text, "- dsgesv") == "- dsgesv: fell back");
  CHECK(line_with(text, "- dgesvx") == "- dgesvx: is skipped: too large");
  CHECK(count(text, "ceiling") == 0);
  Comparison failed = all;
  failed.solvers[0].turns[0].failure = "no x";
  const std::string why = compare_tables(failed);
  CHECK(squeezed(line_with(why, "solve ")) == "solve fp32 1 x 2 - - - - - - FAILED");
  CHECK_THAT(why, ContainsSubstring("- solve: FAILED in round 1: no x\n"));
}

TEST_CASE("a user's system as JSON") {
  const auto document = json_of(gallery_comparison());
  CHECK(document["matrix"] == "graded");
  CHECK(document["passed"] == true);
  const auto& order = document["orders"][0];
  CHECK(order["ceilings"].empty());
  const auto& solve = order["solvers"][0];
  CHECK(solve["ceiling"].is_null());
  CHECK(solve["share_of_ceiling"].is_null());
  CHECK(solve["seconds"] == 0.5);
  CHECK(solve["median_seconds"] == 0.625);
  CHECK(solve["over_dgesv"] == 0.25);
  CHECK(solve["check_share"].get<double>() == Approx(0.2));
  CHECK(solve["turns"][0]["steps"].empty());
  CHECK(solve["turns"][0]["check_seconds"].is_null());
  const auto& turn = solve["turns"][1];
  CHECK(turn["check_seconds"] == 0.1);
  REQUIRE(turn["steps"].size() == 2);
  const auto& step = turn["steps"][0];
  CHECK((step["precision"] == "bf16" && step["solved"] == false && step["iterations"] == 7));
  CHECK(step["why"] == "it was not accurate");
  CHECK((step["factor_seconds"] == 0.25 && step["refine_seconds"] == 0.125));
  CHECK(turn["steps"][1]["why"].is_null());
  CHECK(order["solvers"][2]["turns"][0]["note"] == "fell back");
  CHECK(order["solvers"][3]["median_seconds"].is_null());
}

TEST_CASE("the head says what is compared") {
  CompareOptions who{.gallery = GalleryKind::graded};
  CHECK_THAT(head_of(who), ContainsSubstring("--  speedwell::solve and LAPACK, graded in turns\n"));
  CHECK_THAT(head_of(who), ContainsSubstring("MATRIX     : graded, seed 1"));
  who.rhs = 300;
  CHECK_THAT(head_of(who), ContainsSubstring("graded, 300 right-hand sides in turns\n"));
  CHECK_THAT(head_of(who), ContainsSubstring("\nRHS        : 300\n"));
  who.rhs = 0;
  CHECK_THAT(head_of(who), ContainsSubstring("graded, N right-hand sides in turns\n"));
  CHECK_THAT(head_of(who), ContainsSubstring("\nRHS        : N\n"));
  // The benchmarks' system has one, of which nothing is said.
  CHECK_THAT(head_of({}), ContainsSubstring("--  HPL-MxP, HPL and LAPACK in turns\n"));
  CHECK(count(head_of({}), "RHS ") == 0);
}

TEST_CASE("a user's system with several right-hand sides") {
  Comparison all = gallery_comparison();
  CHECK(count(compare_tables(all), "right-hand sides") == 0);
  all.rhs = 300;
  CHECK_THAT(compare_tables(all), ContainsSubstring("\nN = 1000, 300 right-hand sides\n"));
  const auto order = json_of(all)["orders"][0];
  CHECK(order["right_hand_sides"] == 300);
  CHECK(order["solvers"][1]["gflops"]["best"].get<double>() ==
        Approx(benchmark_flops(1000, 300) / 0.125 / 1e9));
}

TEST_CASE("progress shows a solver's turn in one line") {
  const Comparison all = some_comparison();
  CHECK(turn_line(all.solvers[0], all, 2, 3) ==
        "n = 1000, round 2 of 3: mxp bf16 0.007424 s, 90.00 GFLOP/s");
  ComparedSolver failed = all.solvers[3];
  failed.turns.pop_back();
  CHECK_THAT(turn_line(failed, all, 2, 3), ContainsSubstring("dsgesv FAILED: it gave up"));
  const Comparison levels = level_comparison();
  CHECK(turn_line(levels.solvers[2], levels, 1, 1) ==
        "n = 1000, round 1 of 1: O3 fp16 no x: no factors");
}

TEST_CASE("comparisons as JSON") {
  const auto document = json_of(some_comparison());
  CHECK(document["schema"] == "speedwell/1");
  CHECK(document["benchmark"] == "compare");
  CHECK(document["date"] == "1970-01-01T00:00:00Z");
  CHECK(document["passed"] == false);
  CHECK(document["rounds"] == 3);
  CHECK(document["notes"].dump() == "[\"a note\"]");
  const auto& order = document["orders"][0];
  CHECK(order["n"] == 1000);
  const auto& mxp = order["solvers"][0];
  CHECK((mxp["solver"] == "mxp" && mxp["precision"] == "bf16" && mxp["nb"] == 128));
  CHECK((mxp["ranks"] == 2 && mxp["threads"] == 2 && mxp["passed"] == true));
  CHECK(mxp["gflops"]["best"].get<double>() == Approx(100));
  CHECK(mxp["gflops"]["median"].get<double>() == Approx(90));
  CHECK(mxp["over_dgesv"].get<double>() == Approx(2.5));
  CHECK(mxp["share_of_ceiling"].get<double>() == Approx(0.5));
  CHECK(mxp["refinement_share"].get<double>() == Approx(0.1));
  CHECK(mxp["turns"].size() == 3);
  CHECK(mxp["skipped"].is_null());
  const auto& hpl = order["solvers"][1];
  CHECK(hpl["skipped"] == "it does not fit");
  CHECK((hpl["passed"].is_null() && hpl["gflops"]["best"].is_null() && hpl["seconds"].is_null()));
  CHECK(hpl["turns"].dump() == "[]");
  CHECK(order["solvers"][2]["refinement_share"].is_null());
  const auto& dsgesv = order["solvers"][3];
  CHECK((dsgesv["passed"] == false && dsgesv["gflops"]["median"].is_null()));
  CHECK(dsgesv["turns"][1]["failure"] == "it gave up");
  CHECK(order["ceilings"][0]["rate"]["best"] == 100);
  CHECK(order["ceilings"][0]["rate"]["median"] == 80);
  CHECK(order["ceilings"][3]["rate"]["best"].is_null());
  CHECK(order["ceilings"][3]["failure"] == "out of memory");
}

TEST_CASE("levels: errors, memory and what left the range; and no x is a result too") {
  const Comparison all = level_comparison();
  CHECK(all.passed());
  const std::string text = compare_tables(all);
  CHECK(squeezed(line_with(text, "solver ")) ==
        "solver type GiB r x thr best, s median, s GFLOP/s refine corr first error digits verdict");
  CHECK(squeezed(line_with(text, "O2 ")) ==
        "O2 fp16 1 1 x 2 0.006682 0.006682 100.00 10.0 % 2 1.0e-03 1.0e-14 14.0 PASSED");
  CHECK(squeezed(line_with(text, "O3 ")) == "O3 fp16 1 1 x 2 - - - - - - - - no x");
  CHECK_THAT(text,
             ContainsSubstring("- fp64: 7 of A overflowed\n- fp64: 3 of L and U underflowed"));
  CHECK_THAT(text, ContainsSubstring("- O3 fp16: no x in round 1: no factors\n"));
  const auto document = json_of(all);
  CHECK(document["passed"] == true);
  const auto& o2 = document["orders"][0]["solvers"][1];
  CHECK((o2["level"] == "O2" && o2["precision"] == "fp16" && o2["lu_bytes"] == 0x1p30));
  CHECK((o2["corrections"] == 2 && o2["first_error"] == 1e-3 && o2["error"] == 1e-14));
  CHECK(o2["turns"][0]["error"] == 1e-14);
  CHECK(o2["turns"][0]["matrix"].dump() == R"({"overflowed":7,"underflowed":0})");
  CHECK(o2["turns"][0]["factors"]["underflowed"] == 3);
  const auto& o3 = document["orders"][0]["solvers"][2];
  CHECK((o3["passed"] == false && o3["error"].is_null() && o3["turns"][0]["factors"].is_null()));
}

TEST_CASE("accuracies: errors, bounds and digits; and no x is a result too") {
  Comparison all = gallery_comparison();
  all.solvers[0].accuracy = Accuracy::forward;
  const auto judge = [](Turn& turn, double error, double bound, double condition) {
    turn.x_is_known = true;
    turn.scaled_residual = unknown;
    turn.error = error;
    turn.bound = bound;
    turn.condition = condition;
  };
  for (ComparedSolver& one : all.solvers)
    for (Turn& turn : one.turns) judge(turn, 1e-10, unknown, unknown);
  judge(all.solvers[0].turns[1], 1e-16, 2e-16, 3e5);
  judge(all.solvers[1].turns[0], 0, 1e-12, unknown);
  judge(all.solvers[2].turns[0], 1e-10, 1e-11, unknown);
  all.solvers[2].turns[0].failure = "it gave up";
  CHECK(all.passed());
  CHECK(digits(1e-10) == Approx(10));
  CHECK(digits(0) == 16);
  CHECK(digits(3) == 0);
  CHECK(std::isnan(digits(unknown)));
  const std::string text = compare_tables(all);
  CHECK(squeezed(line_with(text, "solve forward")) ==
        "solve forward fp32 1 x 2 0.5 0.625 1.34 0.25 10.0 % 20.0 % 1.0e-16 2.0e-16 16.0 3.0e+05 "
        "PASSED");
  CHECK(squeezed(line_with(text, "dgesv ")) ==
        "dgesv fp64 1 x 2 0.125 0.1875 5.35 1.00 - - 0.0e+00 1.0e-12 16.0 - PASSED");
  CHECK(squeezed(line_with(text, "dsgesv ")) ==
        "dsgesv fp32 1 x 2 - - - - - - 1.0e-10 1.0e-11 10.0 - no x");
  CHECK_THAT(text, ContainsSubstring("- dsgesv: the error is 10 times its bound\n"));
  CHECK_THAT(text, ContainsSubstring("- dsgesv: no x in round 1: it gave up\n"));
  CHECK(count(text, "FAILED") == 0);
  const auto document = json_of(all);
  const auto& forward = document["orders"][0]["solvers"][0];
  CHECK((forward["accuracy"] == "forward" && forward["error"] == 1e-16 &&
         forward["bound"] == 2e-16 && forward["condition"] == 3e5));
  CHECK(forward["turns"][0]["error"] == 1e-10);
  all.solvers[2].turns[0].x_is_known = false;
  CHECK_FALSE(all.passed());
}
}  // namespace speedwell::test::compare_tests
