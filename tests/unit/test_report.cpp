// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <regex>
#include <string>

#include "catch.hpp"
#include "document/benchmark_json.hpp"
#include "document/benchmark_report.hpp"
#include "document/sensor_text.hpp"
#include "report/progress.hpp"
#include "report/solve_report.hpp"

namespace speedwell::test::report_tests {
namespace {

Setup some_setup() {
  Setup setup;
  setup.options.n = 3000000000;  // beyond 32 bits
  setup.options.run.nb = 1024;
  setup.options.run.nprow = 2;
  setup.options.run.npcol = 2;
  setup.options.precision = Precision::bf16;
  setup.options.run.threads = 2;
  setup.machine.most_threads = 3;
  setup.options.run.lookahead = 1;
  setup.options.run.chunk = 2048;
  setup.reasons.nb = "table (a row)";
  setup.lu.n = 1000;
  setup.lu.nb = 100;
  setup.lu.width = 512;
  setup.budget.host = "first";
  setup.machine.hosts = {"first", "first", "second", "second"};
  setup.notes = {"a warning"};
  return setup;
}

BenchmarkRun some_run(bool passed) {
  BenchmarkRun run;
  BenchmarkResult& r = run.result;
  r.chosen = some_setup().options;
  r.seconds = 12.345;
  r.gflops = 678.9;
  r.lu_seconds = 10;
  r.lu_gflops = 800;
  r.refine_seconds = 2.345;
  r.iterations = 2;
  r.history = {1e5, 0.5};
  r.norms = {1, 2, 3, 4e-10};
  r.scaled_residual = passed ? 0.5 : std::numeric_limits<double>::quiet_NaN();
  r.passed = passed;
  r.notes = {"a warning", "a note"};
  r.update = {1.5, 2.5, 2};
  return run;
}

/// A solution of 30 right-hand sides whose componentwise errors are not measured.
Solution many_solved() {
  Solution s;
  s.n = 2;
  s.steps.resize(1);
  s.columns.resize(30);
  for (SolveColumn& column : s.columns) {
    column.converged = true;
    column.componentwise_error = column.forward_bound = std::numeric_limits<double>::quiet_NaN();
    column.backward_error = 1e-17;
  }
  return s;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != text.npos;
}

}  // namespace

TEST_CASE("HPL's code T/V of a run") {
  BenchmarkOptions o;
  o.run.lookahead = 1;
  CHECK(variant(o) == "WR11R1R1");
  o.run.order = GridOrder::column;
  o.run.lookahead = 0;
  o.run.broadcast = BroadcastMethod::spread_roll;
  CHECK(variant(o) == "WC04R1R1");
  o.run.broadcast = BroadcastMethod::ring;
  CHECK(variant(o) == "WC00R1R1");
  o.run.broadcast = BroadcastMethod::ibcast;
  CHECK(variant(o) == "WC06R1R1");
  o.run.broadcast = BroadcastMethod::two_ring;
  CHECK(variant(o) == "WC02R1R1");
  o.run.broadcast = BroadcastMethod::two_ring_modified;
  CHECK(variant(o) == "WC03R1R1");
  o.run.broadcast = BroadcastMethod::spread_roll_modified;
  CHECK(variant(o) == "WC05R1R1");
  o.leaf = 16;
  CHECK(variant(o) == "WC05R1R1");
  o.pivoting = Pivoting::partial;
  CHECK(variant(o) == "WC05R2R16");
  o.ndiv = 3;
  CHECK(variant(o) == "WC05R3R16");
}

TEST_CASE("the head says what the rate of FP16x3 counts") {
  Setup setup = some_setup();
  const std::string formula = "Gflops : (2/3 N^3 + 3/2 N^2) / Time / 10^9";
  CHECK(contains(report_head({setup}, {}), formula + "\n"));
  setup.options.precision = Precision::fp16x3;
  const std::string head = report_head({setup}, {});
  CHECK(contains(head, formula + "; the three products of fp16x3 count as one\n"));
  CHECK(contains(head, "PRECISION  : fp16x3\n"));
}

TEST_CASE("row and residual line have HPL's layout") {
  const std::string text = report_run(some_setup(), some_run(true));
  CHECK(
      contains(text,
               "T/V                N    NB     P     Q               Time                 Gflops\n"
               "--------------------------------------------------------------------------------\n"
               "WR11R1R1  3000000000  1024     2     2              12.35              6.789e+02\n"
               "HPL_pdgesv() start time "));
  CHECK(contains(text,
                 "||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)=   5.00000000e-01 ...... "
                 "PASSED\n"));
  CHECK(
      contains(text, "    N = 3000000000, NB = 1024, NPROW = 2, NPCOL = 2, SLOPPY-TYPE = BF16\n"));
  CHECK(contains(text, "       GFLOPS = 6.7890e+02, per GPU =     169.72 ------ "));
  CHECK(contains(text, "    LU GFLOPS = 8.0000e+02, per GPU =     200.00 ------ "));
  CHECK(contains(text, "1.500       2.500   2 on second\n"));
  CHECK(contains(text, "- a note\n"));
  CHECK_FALSE(contains(text, "- a warning\n"));  // the head of the report has it
}

TEST_CASE("the rate per GPU counts each GPU once, however many ranks share it") {
  Setup setup = some_setup();
  setup.machine.hosts = {"a", "a", "b", "b"};
  const BenchmarkRun run = some_run(true);
  const auto rate = [&] {
    return fmt::format("per GPU = {:10.2f} ------ the score", run.result.gflops / 4);
  };
  CHECK(report_run(setup, run).find(rate() + "; a rank") != std::string::npos);
  setup.machine.gpus = {"GPU 0", "GPU 1", "GPU 0", "GPU 1"};
  CHECK(report_run(setup, run).find(rate() + "\n") != std::string::npos);
  setup.machine.gpus = {"GPU 0", "GPU 0", "GPU 0", "GPU 0"};
  const std::string shared =
      fmt::format("per GPU = {:10.2f} ------ the score\n", run.result.gflops / 2);
  CHECK(report_run(setup, run).find(shared) != std::string::npos);
}

TEST_CASE("a run that failed says so, and shows the norms as HPL does") {
  BenchmarkRun run = some_run(false);
  run.result.scaled_residual = 17;
  run.result.norms = {6229.846527, 790.874477, 0.499978, 5455.998041};
  const std::string text = report_run(some_setup(), run);
  CHECK(contains(
      text,
      "*N)=   1.70000000e+01 ...... FAILED\n"
      "||Ax-b||_oo  . . . . . . . . . . . . . . . . . =        5455.998041\n"
      "||A||_oo . . . . . . . . . . . . . . . . . . . =        6229.846527\n"
      "||x||_oo . . . . . . . . . . . . . . . . . . . =         790.874477\n"
      "||b||_oo . . . . . . . . . . . . . . . . . . . =           0.499978\n"
      "================================================================================\n"));
  CHECK_FALSE(contains(text, "PASSED"));
  CHECK_FALSE(contains(report_run(some_setup(), some_run(true)), ". . ."));
}

TEST_CASE("without factors there is one line in place of residual and norms") {
  BenchmarkRun run = some_run(false);
  BenchmarkResult& r = run.result;
  r.norms = {r.scaled_residual, r.scaled_residual, r.scaled_residual, r.scaled_residual};
  r.bad_pivot = 17;
  CHECK(no_factors(r) ==
        "pivot 17 (from 0) is zero, A has no factors without pivoting (info = 18)");
  r.chosen.pivoting = Pivoting::partial;
  const std::string singular = "pivot 17 (from 0) is zero, A is singular (info = 18)";
  CHECK(no_factors(r) == singular);
  const std::string text = report_run(some_setup(), run);
  CHECK(contains(text, "\n" + singular + " ...... FAILED\n"));
  for (const char* word : {"nan", "Ax-b", "PASSED", "HPL-MxP result"})
    CHECK_FALSE(contains(text, word));
  r.nonfinite = true;
  CHECK(contains(no_factors(r), "pivot 17 (from 0) is zero or not finite"));
  r.bad_pivot = -1;
  CHECK(contains(no_factors(r), "Inf or NaN"));

  const auto document = json_report({{some_setup(), {run}}}, "speedwell mxp", {});
  CHECK(document["scaled_residual"].is_null());
  CHECK(document["norms"]["A_inf"].is_null());
  CHECK(contains(document["notes"].dump(), "Inf or NaN"));
}

TEST_CASE("HPL's report leaves out the parts of HPL-MxP") {
  Setup setup = some_setup();
  setup.options.benchmark = Benchmark::hpl;
  setup.options.pivoting = Pivoting::partial;
  setup.options.leaf = 16;
  BenchmarkRun run = some_run(true);
  run.result.chosen = setup.options;
  run.result.history.clear();
  const std::string text = report_head({setup}, {}) + report_run(setup, run);
  for (const char* word : {"MxP", "SLOPPY", "REFINE", "efinement", "residuals  "})
    CHECK_FALSE(contains(text, word));
  CHECK(contains(text, "\nWR11R2R16  3000000000  1024 "));
  CHECK(contains(text, "\nNBMIN      : 16\nNDIV       : 2\n"));
  CHECK(contains(text, "\nrows    "));
  const auto document = json_report({{setup, {run}}}, "speedwell hpl", {});
  CHECK(document["benchmark"] == "hpl");
  CHECK(document["solve"]["seconds"] == 2.345);
  CHECK(document.count("refinement") == 0);
  CHECK(document["phases"].count("residuals") == 0);
}

TEST_CASE("a threshold of 0 or less is not applied, and the report says so") {
  BenchmarkRun run = some_run(true);
  run.result.chosen.threshold = 0;
  Setup setup = some_setup();
  setup.options.threshold = 0;
  const std::string head = report_head({setup}, {});
  CHECK(contains(head, "- Residuals are not checked: the threshold, 0, is not above 0\n"));
  const std::string text = report_run(setup, run);
  for (const char* word : {"Ax-b", "PASSED", "FAILED"}) CHECK_FALSE(contains(text, word));
  const std::string tail = report_tail({3, 0}, false);
  CHECK(contains(tail, "Finished      3 tests"));
  CHECK(contains(tail, "              3 tests completed without checking,\n"));
  CHECK_FALSE(contains(tail, "failed"));
  CHECK(contains(report_tail({3, 1}, false), "              1 tests completed and failed"));
}

TEST_CASE("the head lists the values of several setups, each once and in order") {
  std::vector<Setup> setups(4, some_setup());
  setups[1].options.n = 29;
  setups[2].options.run.nb = 8;
  setups[2].notes = {"another"};
  setups[3].options.run.nprow = 1;
  setups[3].options.run.npcol = 2;
  const std::string text = report_head(setups, {});
  CHECK(contains(text, "\nN          : 3000000000       29 \n"));
  CHECK(contains(text, "\nNB         :     1024        8 \n"));
  CHECK(contains(text, "\nP          :        2        1 \nQ          :        2        2 \n"));
  CHECK(contains(text, "- a warning\n- another\n\n"));
}

TEST_CASE("the summary has lines of a fixed form") {
  BenchmarkRun mxp = some_run(true);
  BenchmarkRun hpl = some_run(true);
  hpl.result.gflops = 100;
  hpl.result.scaled_residual = 0.01;
  CHECK(speedup(mxp, hpl) == Approx(6.789));
  CHECK(report_summary(mxp, hpl) ==
        "\n****** HPL-MxP and HPL ******\n\n"
        "  HPL-MxP GFLOPS   =   6.7890e+02   N = 3000000000, NB = 1024, P = 2, Q = 2, bf16\n"
        "  HPL GFLOPS       =   1.0000e+02   N = 3000000000, NB = 1024, P = 2, Q = 2, bf16\n"
        "  Speedup          =         6.79\n"
        "  HPL-MxP residual =   5.0000e-01 ...... PASSED\n"
        "  HPL residual     =   1.0000e-02 ...... PASSED\n\n"
        "================================================================================\n");
  hpl = some_run(false);
  hpl.result.gflops = 0;
  hpl.result.bad_pivot = 0;
  const Measured second{some_setup(), {hpl}};
  const std::string text = report_summary(mxp, hpl);
  CHECK(contains(text, "  Speedup          =         none\n"));
  CHECK(contains(text, "  HPL residual     =         none ...... FAILED\n"));
  const auto document = json_of_both({some_setup(), {mxp}}, &second, "speedwell bench", {});
  CHECK(document["speedup"].is_null());
  CHECK(document["passed"] == false);
  CHECK(document["mxp"]["passed"] == true);
}

TEST_CASE("the head lists every choice, with Speedwell's marked") {
  const std::string text = report_head({some_setup()}, {"from outside"});
  for (const char* label :
       {"N", "NB", "PMAP", "P", "Q", "RANKS", "PRECISION", "MATRIX", "REFINE", "DEPTH", "BCAST",
        "PANEL", "CHUNK", "DEVICE", "THREADS", "MEMORY", "NODE"}) {
    CAPTURE(label);
    CHECK(std::regex_search(text, std::regex(std::string("\n") + label + " +: ")));
  }
  CHECK(std::regex_search(text, std::regex("\nNB +: 1024 +chosen: table \\(a row\\)\n")));
  CHECK(contains(text, "\nDEPTH      : 1 (look-ahead)\n"));
  CHECK(contains(text, "\nCHUNK      : 2048 columns at a time\n"));
  CHECK(std::regex_search(text, std::regex("\nN +: 3000000000\n")));
  CHECK(contains(text, "2 to 3 a rank"));
  CHECK(contains(text, "4 on 2 nodes"));
  CHECK(contains(text, "- a warning\n- from outside\n"));
}

TEST_CASE("the peak of memory stands beside what was announced, where it was measured") {
  Setup setup = some_setup();
  BenchmarkRun run = some_run(true);
  CHECK_FALSE(contains(report_run(setup, run), "\nMemory: "));
  const auto peak_in = [&] {
    return json_report({{setup, {run}}}, "speedwell mxp", {})["memory_peak"];
  };
  CHECK(peak_in() == nlohmann::ordered_json({{"resident", nullptr}, {"device", nullptr}}));
  run.peak.resident = {3. * (1 << 30), 2};
  CHECK(
      contains(report_run(setup, run), " GiB needed a rank, at most 3.00 GiB resident (rank 2 on " +
                                           setup.machine.hosts[2] + ")\n"));
  CHECK(peak_in()["resident"] ==
        nlohmann::ordered_json(
            {{"bytes", std::int64_t{3} << 30}, {"rank", 2}, {"host", setup.machine.hosts[2]}}));
  setup.budget.on_device = true;
  CHECK_FALSE(contains(report_run(setup, run), "\nMemory: "));
  run.peak.device = {1 << 30, 1};
  CHECK(contains(report_run(setup, run), "at most 1.00 GiB allocated (rank 1 on "));
}

TEST_CASE("only the result row has the form of a result row") {
  const std::regex row(R"(\s[0-9]+\s+[0-9]+\s+[0-9]+\s+[0-9]+\s+[0-9]+\.[0-9]+\s+[0-9])");
  CHECK_FALSE(std::regex_search(report_head({some_setup()}, {}), row));
  CHECK_FALSE(std::regex_search(report_tail({1, 2}, true), row));
  const std::string text = report_run(some_setup(), some_run(true));
  CHECK(std::distance(std::sregex_iterator(text.begin(), text.end(), row),
                      std::sregex_iterator()) == 1);
}

TEST_CASE("the end of a report counts the tests that passed and failed") {
  const std::string text = report_tail({2, 1}, true);
  CHECK(contains(text,
                 "Finished      3 tests with the following results:\n"
                 "              2 tests completed and passed residual checks,\n"
                 "              1 tests completed and failed residual checks,\n"
                 "              0 tests skipped because of illegal input values.\n"));
  CHECK(contains(text, "\nEnd of Tests.\n"));
}

TEST_CASE("JSON shows the fastest run, or the first that failed") {
  std::vector<BenchmarkRun> runs{some_run(true), some_run(true), some_run(true)};
  runs[1].result.seconds = 11;
  runs[1].result.gflops = 700;
  auto document = json_report({{some_setup(), runs}}, "speedwell mxp", {"from outside"});
  CHECK(document["time_seconds"] == 11);
  CHECK(document["runs"].size() == 3);
  CHECK(document["n"] == 3000000000);
  CHECK(document["hosts"] == std::vector<std::string>{"first", "second"});
  CHECK(document["notes"] == std::vector<std::string>{"a warning", "a note", "from outside"});
  CHECK(document["phases"]["update"]["slowest_host"] == "second");
  CHECK(document["bad_pivot"].is_null());

  runs[2] = some_run(false);
  runs[2].result.bad_pivot = 17;
  document = json_report({{some_setup(), runs}}, "speedwell mxp", {});
  CHECK(document["passed"] == false);
  CHECK(document["bad_pivot"] == 17);
  CHECK(document.dump().find("nan") == std::string::npos);
}

TEST_CASE("JSON of several configurations has the choices of each run") {
  std::vector<Measured> all{{some_setup(), {some_run(true)}}, {some_setup(), {some_run(true)}}};
  all[1].setup.options.run.nb = 8;
  all[1].runs[0].result.gflops = 700;
  const auto document = json_report(all, "speedwell mxp", {});
  CHECK(document["nb"] == 8);
  CHECK(document["gflops"] == 700);
  REQUIRE(document["runs"].size() == 2);
  CHECK(document["runs"][0]["nb"] == 1024);
  CHECK(document["runs"][1]["nb"] == 8);
  CHECK(json_report({all[0]}, "speedwell mxp", {})["runs"][0].count("nb") == 0);
}

TEST_CASE("progress prints at most one line a second") {
  ProgressLines lines;
  CHECK_FALSE(lines.line({10, 1000, 0.5}));
  const auto line = lines.line({500, 1000, 2});
  REQUIRE(line);
  CHECK(contains(*line, " 87.5 % done, 500 columns left, 2 s, 0 s left, "));
  CHECK_FALSE(lines.line({600, 1000, 2.9}));
  const auto last = lines.line({1000, 1000, 4});
  REQUIRE(last);
  CHECK(contains(*last, "100.0 % done, 0 columns left, 4 s, 0 s left, now 0.0 GFLOP/s, "));
  // The next factorization begins anew.
  CHECK_FALSE(lines.line({100, 1000, 0.5}));
  const auto next = lines.line({500, 1000, 2});
  REQUIRE(next);
  CHECK(*next == *line);
}

TEST_CASE("the report of a solve names the worst of many, by what was measured") {
  SolveRun run;
  run.right_hand_sides = 30;
  Solution s = many_solved();
  s.columns[6].backward_error = 3e-17;
  const std::string note = "componentwise -: not measured";
  std::string text = solve_report(run, s);
  CHECK(std::regex_search(text, std::regex("\n7 .* - +3.00e-17 ")));
  CHECK(contains(text, "the worst of 30; 30 meet the tolerance\n" + note));
  s.columns[4].componentwise_error = 4e-16;
  text = solve_report(run, s);
  CHECK(std::regex_search(text, std::regex("\n5 .* 4.00e-16 +1.00e-17 ")));
  CHECK_FALSE(contains(text, note));
  CHECK(verdict(run, s) == "solved; x is not kept: no -o");
  const auto document = json_of_solution(run, s);
  CHECK(document["columns"][6]["componentwise_error"].is_null());
  CHECK(document["columns"][4]["componentwise_error"] == 4e-16);
}

TEST_CASE("the refinement goes on below the tolerance only for a few right-hand sides") {
  SolveRun run;
  const auto goes_on = [&] {
    return contains(solve_report(run, many_solved()), "; refined while that falls\n");
  };
  run.right_hand_sides = 8;
  CHECK(goes_on());
  run.right_hand_sides = 9;
  CHECK_FALSE(goes_on());
  run.right_hand_sides = 1;
  run.options.tolerance = 1e-10;
  CHECK_FALSE(goes_on());
}

TEST_CASE("the verdict of a solve names the right-hand sides that are not solved") {
  SolveRun run;
  run.x = "x.npy";
  Solution s = many_solved();
  CHECK_FALSE(is_solved_in_part(run, s));
  CHECK(verdict(run, s) == "solved; x is in 'x.npy'");
  run.failure = "why";
  for (const std::size_t k : {2, 16}) s.columns[k].converged = false;
  CHECK(is_solved_in_part(run, s));
  CHECK(verdict(run, s) ==
        "2 of 30 right-hand sides NOT solved (3, 17); their columns in 'x.npy' are NaN");
  CHECK(json_of_solution(run, s)["x"] == "x.npy");
  s.columns[16].why = "b(1, 17) is nan";
  const std::string text = solve_report(run, s);
  CHECK(std::regex_search(text, std::regex("\n3 .*  not met\n17 .*  not met: b\\(1, 17\\) is nan\n"
                                           "2 of 30 do not meet the tolerance\n")));
  for (int k = 0; k < 10; ++k) s.columns[17 + k].converged = false;
  CHECK(verdict(run, s) ==
        "12 of 30 right-hand sides NOT solved (3, 17, 18, 19, 20, 21, 22, 23, 24, 25 and 2 more); "
        "their columns in 'x.npy' are NaN");
  for (SolveColumn& column : s.columns) column.converged = false;
  CHECK_FALSE(is_solved_in_part(run, s));
  CHECK(verdict(run, s) == "NOT solved, x is not written: why");
  CHECK(json_of_solution(run, s)["x"].is_null());
}

TEST_CASE("the report of a solve tells a doubt about x") {
  SolveRun run;
  run.x = "x.npy";
  Solution s = many_solved();
  s.converged = true;
  CHECK(json_of_solution(run, s)["doubt"].is_null());
  CHECK(contains(solve_report(run, s), "\nSTRICT     : off\n"));
  s.doubt = "no digit";
  CHECK(verdict(run, s) == "solved, with a doubt; x is in 'x.npy'");
  CHECK(contains(solve_report(run, s), "\nWARNING: no digit\n"));
  CHECK_FALSE(is_failed_by_doubt(run, s));
  nlohmann::ordered_json document = json_of_solution(run, s);
  CHECK(document["doubt"] == "no digit");
  CHECK(document["solved"] == true);

  run.options.strict = true;
  run.failure = "doubtful: no digit";
  CHECK(is_failed_by_doubt(run, s));
  CHECK(verdict(run, s) == "NOT solved, x is not written: doubtful: no digit");
  document = json_of_solution(run, s);
  CHECK(document["x"].is_null());
  CHECK(document["solved"] == false);
  CHECK(document["doubt"] == "no digit");

  // A doubt about the others keeps x from being written in part only if doubts are failures.
  s.converged = s.columns[3].converged = false;
  run.failure = "b(1, 4) is nan";
  CHECK_FALSE(is_failed_by_doubt(run, s));
  CHECK_FALSE(is_solved_in_part(run, s));
  CHECK(json_of_solution(run, s)["x"].is_null());
  run.options.strict = false;
  CHECK(is_solved_in_part(run, s));
  CHECK(contains(solve_report(run, s), "\nWARNING: no digit\n"));
}

TEST_CASE("the report of a solve tells growth and rotations of a step") {
  Solution s;
  s.steps.resize(3);
  s.steps[0].why = "useless";
  s.steps[1].growth = 1e17;
  s.steps[1].rotated = s.steps[2].rotated = s.steps[2].solved = true;
  s.steps[1].why = "growth";
  s.steps[2].growth = 8;
  const std::string text = solve_report({}, s);
  CHECK(contains(text, "  left: useless\n"));
  CHECK(contains(text, "  rotated, left: growth\n"));
  CHECK(contains(text, "  rotated, solved\n"));
  const auto steps = json_of_solution({}, s)["steps"];
  CHECK(steps[0]["growth"].is_null());
  CHECK(steps[0]["rotated"] == false);
  CHECK(steps[1]["growth"] == 1e17);
  CHECK(steps[2]["rotated"] == true);
}

TEST_CASE("a time of the energy meter is rounded to a millisecond, up to the next second") {
  EnergyReport energy;
  energy.begin = 1e9 + 0.9996;
  energy.end = 1e9 + 1.25;
  CHECK(energy_times(energy) == "timed part 2001-09-09T01:46:41.000Z to 2001-09-09T01:46:41.250Z");
}
}  // namespace speedwell::test::report_tests
