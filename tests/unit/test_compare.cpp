// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "catch.hpp"
#include "compare/comparison.hpp"
#include "report/compare_json.hpp"
#include "report/compare_plot.hpp"
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
      {"dgemm", "GFLOP/s", "hpl, dgesv", 2, 2, {100, 60}, 110, "7 x 8 x 9"},
      {"sgemm", "GFLOP/s", "dsgesv", 2, 2, {200}, 210, "7 x 8 x 9"},
      {"update bf16", "GFLOP/s", "mxp bf16", 2, 2, {190, 200}, 220, "1 x 2 x 3"},
      {"registers bf16", "GFLOP/s", "nothing here", 2, 2, {}, 0, "", "out of memory"},
      {"memory read", "GB/s", "solves", 2, 2, {5000, 6000}, 0, ""},
  };
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

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (auto at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++found;
  return found;
}

/// The line of a picture's plot command that contains `part`.
std::string plotted(const std::string& text, const std::string& part) {
  const auto at = text.find(part, text.find("\nplot "));
  if (at == text.npos) return "";
  const auto begin = text.rfind('\n', at) + 1;
  return text.substr(begin, text.find('\n', at) - begin);
}

/// The colour of that line, such as "#0072b2".
std::string colour(const std::string& text, const std::string& part) {
  const std::string line = plotted(text, part);
  const auto at = line.find('#');
  return at == line.npos ? "none" : line.substr(at, 7);
}

/// The names in a picture's legend, in order.
std::vector<std::string> legend(const std::string& text) {
  const std::string start = " title '";
  std::vector<std::string> names;
  for (auto at = text.find(start, text.find("\nplot ")); at != text.npos;
       at = text.find(start, at + 1)) {
    const auto begin = at + start.size();
    names.push_back(text.substr(begin, text.find('\'', begin) - begin));
  }
  return names;
}

}  // namespace

TEST_CASE("best and median of several rates") {
  CHECK(statistics({}).best == 0);
  CHECK(statistics({}).median == 0);
  CHECK(statistics({3}).median == 3);
  CHECK(statistics({5, 1, 3}).best == 5);
  CHECK(statistics({5, 1, 3}).median == 3);
  CHECK(statistics({4, 1, 8, 2}).best == 8);
  CHECK(statistics({4, 1, 8, 2}).median == 3);
}

TEST_CASE("rates, ratios and shares of solvers") {
  const Comparison all = some_comparison();
  const auto& [mxp, hpl, dgesv, dsgesv] =
      std::tie(all.solvers[0], all.solvers[1], all.solvers[2], all.solvers[3]);
  CHECK(statistics(rates(mxp, all)).best == Approx(100));
  CHECK(statistics(rates(mxp, all)).median == Approx(90));
  CHECK(ratio_to_dgesv(mxp, all) == Approx(2.5));
  CHECK(ratio_to_dgesv(dgesv, all) == Approx(1));
  // Two ranks are compared with the ceiling of two ranks, one rank with half of it.
  CHECK(share_of_ceiling(mxp, all) == Approx(0.5));
  CHECK(share_of_ceiling(dgesv, all) == Approx(0.8));
  CHECK(refinement_share(mxp) == Approx(0.1));
  CHECK(std::isnan(refinement_share(dgesv)));

  // A solver that failed once has no rates, whatever its other turns were.
  CHECK_FALSE(dsgesv.passed());
  CHECK(rates(dsgesv, all).empty());
  CHECK(ratio_to_dgesv(dsgesv, all) == 0);
  CHECK(share_of_ceiling(dsgesv, all) == 0);
  CHECK_FALSE(all.passed());

  CHECK(hpl.passed());
  CHECK(rates(hpl, all).empty());
  CHECK(share_of_ceiling(hpl, all) == 0);
  CHECK(std::isnan(refinement_share(hpl)));

  Comparison several = all;
  several.rhs = 300;
  const double more = benchmark_flops(1000, 300) / benchmark_flops(1000);
  CHECK(more > 1.8);
  CHECK(statistics(rates(mxp, several)).best == Approx(100 * more));
  CHECK(ratio_to_dgesv(several.solvers[0], several) == Approx(2.5));

  Comparison alone = all;
  alone.solvers.resize(2);
  alone.ceilings.clear();
  CHECK(alone.passed());
  CHECK(ratio_to_dgesv(alone.solvers[0], alone) == 0);
  CHECK(share_of_ceiling(alone.solvers[0], alone) == 0);
}

TEST_CASE("the tables of a comparison") {
  const std::string text = compare_tables(some_comparison());
  CHECK(squeezed(line_with(text, "mxp ")) ==
        "mxp bf16 128 2 x 2 100.00 90.00 0.006682 2.50 50.0 % update bf16 10.0 % 5.00e-01 PASSED");
  CHECK(squeezed(line_with(text, "hpl ")) == "hpl fp64 - 1 x 2 - - - - - dgemm - skipped");
  CHECK(squeezed(line_with(text, "dsgesv ")) == "dsgesv fp32 - 1 x 2 - - - - - sgemm - FAILED");
  CHECK(squeezed(line_with(text, "dgemm ")) ==
        "dgemm 2 x 2 100.00 80.00 GFLOP/s 110.00 at 7 x 8 x 9 hpl, dgesv");
  CHECK(squeezed(line_with(text, "registers ")) ==
        "registers bf16 2 x 2 - - GFLOP/s - nothing here");
  CHECK_THAT(text, ContainsSubstring("- hpl is skipped: it does not fit\n"));
  CHECK_THAT(text, ContainsSubstring("- dsgesv FAILED in round 2: it gave up\n"));
  CHECK_THAT(text, ContainsSubstring("- registers bf16 FAILED: out of memory\n"));
  CHECK(count(text, "FAILED") == 3);
}

TEST_CASE("the table of a user's system") {
  const Comparison all = gallery_comparison();
  CHECK(all.passed());
  CHECK(median_seconds(all.solvers[0]) == 0.625);
  CHECK(median_seconds(all.solvers[3]) == 0);
  CHECK(check_share(all.solvers[0]) == Approx(0.2));
  CHECK(std::isnan(check_share(all.solvers[1])));
  CHECK(std::isnan(check_share(all.solvers[3])));
  const std::string text = compare_tables(all);
  CHECK(squeezed(line_with(text, "solve ")) ==
        "solve fp32 1 x 2 0.5 0.625 0.25 10.0 % 20.0 % 5.00e-01 PASSED");
  CHECK(squeezed(line_with(text, "dgesv ")) ==
        "dgesv fp64 1 x 2 0.125 0.1875 1.00 - - 5.00e-01 PASSED");
  CHECK(squeezed(line_with(text, "dgesvx ")) == "dgesvx fp64 1 x 2 - - - - - skipped");
  CHECK(line_with(text, "- solve") ==
        "- solve: failed in bf16, 0.375 s (it was not accurate); solved in fp32, 0.09375 s");
  CHECK(line_with(text, "- dsgesv") == "- dsgesv: fell back");
  CHECK(line_with(text, "- dgesvx") == "- dgesvx is skipped: too large");
  CHECK(line_with(text, "ceiling").empty());
  CHECK(turn_line(all.solvers[0], all, 2, 3) == "n = 1000, round 2 of 3: solve fp32, 0.5 s");
  Comparison failed = all;
  failed.solvers[0].turns[0].failure = "no x";
  const std::string why = compare_tables(failed);
  CHECK(squeezed(line_with(why, "solve ")) == "solve fp32 1 x 2 - - - - - FAILED");
  CHECK(line_with(why, "- solve FAILED") == "- solve FAILED in round 1: no x");
}

TEST_CASE("a user's system as JSON and as a picture") {
  Setup setup;
  setup.machine.hosts = {"host"};
  const Comparison all = gallery_comparison();
  const auto document = json_of_comparisons(setup, {all}, 2, 0, "speedwell compare", {});
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
  const std::string picture = plot_script({all}, "a heading");
  CHECK(picture.find("set ylabel 'GFLOP/s'\n") != picture.npos);
  CHECK(legend(picture) == std::vector<std::string>{"solve", "dgesv", "dsgesv"});
  CompareOptions who{.gallery = all.gallery};
  CHECK(compare_title(who) == "speedwell::solve and LAPACK, graded");
  CHECK_THAT(compare_head(setup, who, {1000}, 2, {}),
             ContainsSubstring("MATRIX     : graded, seed 1"));
}

TEST_CASE("a user's system with several right-hand sides") {
  Comparison all = gallery_comparison();
  const double one_alone = statistics(rates(all.solvers[1], all)).best;
  CHECK(count(compare_tables(all), "right-hand sides") == 0);
  all.rhs = 300;
  CHECK_THAT(compare_tables(all), ContainsSubstring("\nN = 1000, 300 right-hand sides\n"));
  Setup setup;
  setup.machine.hosts = {"host"};
  const auto order = json_of_comparisons(setup, {all}, 2, 0, "speedwell compare", {})["orders"][0];
  CHECK(order["right_hand_sides"] == 300);
  CHECK(order["solvers"][1]["gflops"]["best"].get<double>() ==
        Approx(one_alone * benchmark_flops(1000, 300) / benchmark_flops(1000)));
  CompareOptions who{.gallery = all.gallery, .rhs = 300};
  CHECK(compare_title(who) == "speedwell::solve and LAPACK, graded, 300 right-hand sides");
  CHECK_THAT(compare_head(setup, who, {1000}, 2, {}), ContainsSubstring("\nRHS        : 300\n"));
  who.rhs = 0;
  CHECK(compare_title(who) == "speedwell::solve and LAPACK, graded, N right-hand sides");
  CHECK_THAT(compare_head(setup, who, {1000}, 2, {}), ContainsSubstring("\nRHS        : N\n"));
  // The benchmarks' system has one, of which nothing is said.
  CHECK(compare_head(setup, {}, {1000}, 2, {}).find("RHS ") == std::string::npos);
}

TEST_CASE("progress shows a solver's turn in one line") {
  const Comparison all = some_comparison();
  CHECK(turn_line(all.solvers[0], all, 2, 3) ==
        "n = 1000, round 2 of 3: mxp bf16 90.00 GFLOP/s, 0.007424 s");
  ComparedSolver failed = all.solvers[3];
  failed.turns.pop_back();
  CHECK_THAT(turn_line(failed, all, 2, 3), ContainsSubstring("dsgesv FAILED: it gave up"));
}

TEST_CASE("comparisons as JSON") {
  Setup setup;
  setup.machine.hosts = {"host"};
  const auto document =
      json_of_comparisons(setup, {some_comparison()}, 3, 0, "speedwell compare", {"a note"});
  CHECK(document["schema"] == "speedwell/1");
  CHECK(document["benchmark"] == "compare");
  CHECK(document["date"] == "1970-01-01T00:00:00Z");
  CHECK(document["passed"] == false);
  CHECK(document["rounds"] == 3);
  CHECK(document["notes"].dump() == "[\"a note\"]");
  const auto& order = document["orders"][0];
  CHECK(order["n"] == 1000);
  const auto& mxp = order["solvers"][0];
  CHECK(mxp["gflops"]["best"].get<double>() == Approx(100));
  CHECK(mxp["over_dgesv"].get<double>() == Approx(2.5));
  CHECK(mxp["share_of_ceiling"].get<double>() == Approx(0.5));
  CHECK(mxp["turns"].size() == 3);
  CHECK(mxp["skipped"].is_null());
  const auto& hpl = order["solvers"][1];
  CHECK(hpl["skipped"] == "it does not fit");
  CHECK((hpl["passed"].is_null() && hpl["gflops"]["best"].is_null() && hpl["seconds"].is_null()));
  const auto& dsgesv = order["solvers"][3];
  CHECK((dsgesv["passed"] == false && dsgesv["gflops"]["median"].is_null()));
  CHECK(dsgesv["turns"][1]["failure"] == "it gave up");
  CHECK(order["ceilings"][0]["best_shape"] == "7 x 8 x 9");
  CHECK(order["ceilings"][3]["rate"]["best"].is_null());
  CHECK(order["ceilings"][3]["failure"] == "out of memory");
}

TEST_CASE("the picture of one n, and of several") {
  Comparison all = some_comparison();
  const std::string one = plot_script({all}, "what's here");
  CHECK_THAT(one, ContainsSubstring("set title 'what''s here'\n"));
  CHECK_THAT(one, ContainsSubstring("$data0 << END\n1000 100.000\nEND\n"));
  CHECK_THAT(one, ContainsSubstring("title 'mxp bf16'"));
  CHECK_THAT(one, ContainsSubstring("set xtics norotate (1000)\n"));
  CHECK(count(one, "logscale") == 0);
  // These have no rate: skipped, failed or absent solvers, and ceilings of memory.
  for (const char* absent : {"'hpl", "'dsgesv", "registers", "memory"})
    CHECK(count(one, absent) == 0);

  all.n = 2000;
  all.ceilings[0].rates = {150};
  const std::string two = plot_script({some_comparison(), all}, "");
  CHECK_THAT(two, ContainsSubstring("set logscale x 2\n"));
  CHECK(count(two, "title 'mxp bf16'") == 1);
  CHECK(count(two, "\n1000 ") == 2);
  CHECK_THAT(plotted(two, "'dgemm 150'"), ContainsSubstring("150.000 with lines"));
}

TEST_CASE("a ceiling has the colour of the first solver that it bounds, or is grey") {
  Comparison all = some_comparison();
  all.solvers[1] = entry(SolverKind::hpl, Precision::fp64, "dgemm", {35});
  const std::string text = plot_script({all}, "");
  const std::string mxp = colour(text, "'mxp bf16'");
  const std::string hpl = colour(text, "'hpl'");
  CHECK(mxp != hpl);
  CHECK(colour(text, "'dgesv'") != hpl);
  CHECK(colour(text, "'update bf16 200'") == mxp);
  CHECK(colour(text, "'dgemm 100'") == hpl);
  // dsgesv failed and is not drawn.
  CHECK(colour(text, "'sgemm 200'") == "#a0a0a0");
  for (const char* name : {"'mxp bf16'", "'hpl'", "'dgesv'"})
    CHECK(colour(text, name) != "#a0a0a0");
  for (const char* name : {"'update bf16 200'", "'dgemm 100'", "'sgemm 200'"})
    CHECK_THAT(plotted(text, name), ContainsSubstring("with lines linewidth 1.5 dashtype 2 "));
}

TEST_CASE("the legend names solvers, then ceilings by solvers bounded, eight in all") {
  const auto of = [](const std::vector<ComparedSolver>& solvers) {
    Comparison all = some_comparison();
    all.solvers = solvers;
    for (const char* name : {"registers fp64", "registers fp32", "registers bf16"})
      all.ceilings.push_back({name, "GFLOP/s", "nothing here", 2, 2, {300}});
    return plot_script({all}, "");
  };
  std::vector<ComparedSolver> some{entry(SolverKind::mxp, Precision::bf16, "update bf16", {50}),
                                   entry(SolverKind::hpl, Precision::fp64, "dgemm", {50}),
                                   entry(SolverKind::dgesv, Precision::fp64, "dgemm", {50})};
  using Names = std::vector<std::string>;
  const std::string three = of(some);
  CHECK(legend(three) == Names{"mxp bf16", "hpl", "dgesv", "dgemm 100", "update bf16 200",
                               "sgemm 200", "registers fp64 300", "registers fp32 300"});
  CHECK(count(three, "300.000 with lines") == 2);  // the third of these ceilings is left out
  CHECK(count(three, "notitle") == 0);

  // Where each ceiling bounds one solver, the ceiling of the first solver has a name.
  some = {entry(SolverKind::mxp, Precision::bf16, "none", {50}),
          entry(SolverKind::mxp, Precision::fp16, "none", {50}),
          entry(SolverKind::mxp, Precision::fp32, "none", {50}),
          entry(SolverKind::solve, Precision::bf16, "none", {50}),
          entry(SolverKind::hpl, Precision::fp64, "sgemm", {50}),
          entry(SolverKind::dgesv, Precision::fp64, "dgemm", {50}),
          entry(SolverKind::dsgesv, Precision::fp32, "none", {50})};
  const std::string seven = of(some);
  CHECK(legend(seven) ==
        Names{"mxp bf16", "mxp fp16", "mxp fp32", "solve", "hpl", "dgesv", "dsgesv", "sgemm 200"});
  CHECK_THAT(plotted(seven, "100.000 with lines"), ContainsSubstring(" notitle"));
  CHECK(colour(seven, "100.000 with lines") == colour(seven, "'dgesv'"));
  CHECK(count(seven, "#a0a0a0") == 0);

  // With all solvers no ceiling has a name, and only ceilings that bound a solver are
  // drawn.
  some.push_back(entry(SolverKind::mxp, Precision::fp64, "dgemm", {50}));
  const std::string eight = of(some);
  CHECK(legend(eight) ==
        Names{"mxp bf16", "mxp fp16", "mxp fp32", "solve", "hpl", "dgesv", "dsgesv", "mxp fp64"});
  CHECK(count(eight, " notitle") == 2);
  std::set<std::string> colours;
  for (const std::string& name : legend(eight)) colours.insert(colour(eight, "'" + name + "'"));
  CHECK(colours.size() == 8);
}

TEST_CASE("labels of the sizes are not rotated and do not overlap") {
  const auto sizes = [](const std::vector<std::int64_t>& orders) {
    std::vector<Comparison> all;
    for (const std::int64_t n : orders) {
      all.push_back(some_comparison());
      all.back().n = n;
    }
    return line_with(plot_script(all, ""), "set xtics");
  };
  CHECK(sizes({4096}) == "set xtics norotate (4096)");
  CHECK(sizes({8192, 1024, 2048, 4096, 16384}) ==
        "set xtics norotate (1024, 2048, 4096, 8192, 16384)");
  CHECK(sizes({1000, 1010, 2000, 7950, 8000}) ==
        "set xtics norotate (1000, '' 1010 1, 2000, '' 7950 1, 8000)");
  // Longer labels need more room.
  CHECK(sizes({10, 13, 160}) == "set xtics norotate (10, 13, 160)");
  CHECK(sizes({100000, 130000, 1600000}) == "set xtics norotate (100000, '' 130000 1, 1600000)");
  // Where sizes lie close together, the first of them has its label.
  CHECK(sizes({1000, 3000, 3010, 3020, 9000}) ==
        "set xtics norotate (1000, 3000, '' 3010 1, '' 3020 1, 9000)");
}

TEST_CASE("accuracies: errors, bounds and digits; and no x is a result too") {
  Comparison all = gallery_comparison();
  all.by_accuracy = true;
  all.solvers[0].accuracy = Accuracy::forward;
  for (ComparedSolver& one : all.solvers)
    for (Turn& turn : one.turns) turn.accuracy = {1e-10, unknown, unknown};
  all.solvers[0].turns[1].accuracy = {1e-16, 2e-16, 3e5};
  all.solvers[1].turns[0].accuracy = {0, 1e-12, unknown};
  all.solvers[2].turns[0].accuracy = {1e-10, 1e-11, unknown};
  all.solvers[2].turns[0].failure = "it gave up";
  all.solvers[3].skipped = "it is not here";
  CHECK(all.passed());
  CHECK(digits(known_error(all.solvers[0].turns[1])) == Approx(16));
  CHECK(digits(known_error(all.solvers[2].turns[0])) == Approx(10));
  CHECK(digits(0) == 16);
  CHECK(digits(3) == 0);
  CHECK(std::isnan(known_error({})));
  const std::string text = compare_tables(all);
  CHECK(squeezed(line_with(text, "solve forward")) ==
        "solve forward fp32 1 x 2 0.5 0.625 0.25 1.0e-16 2.0e-16 16.0 3.0e+05");
  CHECK(squeezed(line_with(text, "dgesv ")) ==
        "dgesv fp64 1 x 2 0.125 0.1875 1.00 0.0e+00 1.0e-12 16.0 -");
  CHECK(squeezed(line_with(text, "dsgesv ")) == "dsgesv fp32 1 x 2 - - - 1.0e-10 1.0e-11 10.0 -");
  CHECK_THAT(text, ContainsSubstring("- dsgesv: the error is 10 times its bound\n"));
  CHECK_THAT(text, ContainsSubstring("- dsgesv has no x of the required accuracy in round 1: it"));
  CHECK_THAT(text, ContainsSubstring("- dgesvx is skipped: it is not here\n"));
  CHECK(count(text, "FAILED") == 0);
  const std::string picture = digits_plot_script({all}, "digits");
  CHECK_THAT(picture, ContainsSubstring("16.00 0.5 1000\n"));
  CHECK(count(picture, "dsgesv") == 0);  // which has no x
  all.solvers[2].turns[0].accuracy.reset();
  CHECK_FALSE(all.passed());
}
}  // namespace speedwell::test::compare_tests
