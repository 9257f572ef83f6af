#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <regex>
#include <string>

#include "bench/progress.hpp"
#include "bench/report.hpp"
#include "bench/report_json.hpp"
#include "catch.hpp"

using namespace lupine;

namespace {

Setup some_setup() {
  Setup setup;
  setup.options.n = 3000000000;  // beyond 32 bits
  setup.options.nb = 1024;
  setup.options.rows = 2;
  setup.options.columns = 2;
  setup.options.precision = Precision::bf16;
  setup.options.threads = 2;
  setup.most_threads = 3;
  setup.reasons.nb = "by size and precision";
  setup.footprint.n = 1000;
  setup.footprint.nb = 100;
  setup.panel_width = 512;
  setup.budget.host = "first";
  setup.hosts = {"first", "first", "second", "second"};
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

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != text.npos;
}

}  // namespace

TEST_CASE("variant") {
  BenchmarkOptions o;
  CHECK(variant(o) == "WR11R1R1");
  o.order = GridOrder::column;
  o.lookahead = 0;
  o.broadcast = BroadcastMethod::spread_roll;
  CHECK(variant(o) == "WC04R1R1");
  o.broadcast = BroadcastMethod::ring;
  CHECK(variant(o) == "WC00R1R1");
  o.broadcast = BroadcastMethod::ibcast;
  CHECK(variant(o) == "WC06R1R1");
  o.broadcast = BroadcastMethod::two_ring;
  CHECK(variant(o) == "WC02R1R1");
  o.broadcast = BroadcastMethod::two_ring_modified;
  CHECK(variant(o) == "WC03R1R1");
  o.broadcast = BroadcastMethod::spread_roll_modified;
  CHECK(variant(o) == "WC05R1R1");
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
  CHECK_FALSE(contains(text, "- a warning\n"));  // in the head already
}

TEST_CASE("the rate per GPU counts each GPU once, however many ranks share it") {
  Setup setup = some_setup();
  setup.hosts = {"a", "a", "b", "b"};
  const BenchmarkRun run = some_run(true);
  const auto rate = [&] {
    return fmt::format("per GPU = {:10.2f} ------ the score", run.result.gflops / 4);
  };
  CHECK(report_run(setup, run).find(rate() + "; a rank") != std::string::npos);
  setup.gpus = {"GPU 0", "GPU 1", "GPU 0", "GPU 1"};
  CHECK(report_run(setup, run).find(rate() + "\n") != std::string::npos);
  setup.gpus = {"GPU 0", "GPU 0", "GPU 0", "GPU 0"};
  const std::string shared =
      fmt::format("per GPU = {:10.2f} ------ the score\n", run.result.gflops / 2);
  CHECK(report_run(setup, run).find(shared) != std::string::npos);
}

TEST_CASE("a run that failed says so") {
  const std::string text = report_run(some_setup(), some_run(false));
  CHECK(contains(text, "*N)=              nan ...... FAILED\n"));
  CHECK_FALSE(contains(text, "PASSED"));
}

TEST_CASE("the head lists every choice, with Lupine's marked") {
  const std::string text = report_head(some_setup(), {"from outside"});
  for (const char* label : {"N", "NB", "PMAP", "P", "Q", "RANKS", "PRECISION", "MATRIX", "REFINE",
                            "DEPTH", "BCAST", "PANEL", "DEVICE", "THREADS", "MEMORY", "NODE"}) {
    CAPTURE(label);
    CHECK(std::regex_search(text, std::regex(std::string("\n") + label + " +: ")));
  }
  CHECK(std::regex_search(text, std::regex("\nNB +: 1024 +chosen: by size and precision\n")));
  CHECK(std::regex_search(text, std::regex("\nN +: 3000000000\n")));
  CHECK(contains(text, "2 to 3 a rank"));
  CHECK(contains(text, "4 on 2 nodes"));
  CHECK(contains(text, "- a warning\n- from outside\n"));
}

TEST_CASE("no line but the row looks like one") {
  const std::regex row(R"(\s[0-9]+\s+[0-9]+\s+[0-9]+\s+[0-9]+\s+[0-9]+\.[0-9]+\s+[0-9])");
  CHECK_FALSE(std::regex_search(report_head(some_setup(), {}), row));
  CHECK_FALSE(std::regex_search(report_tail(1, 2), row));
  const std::string text = report_run(some_setup(), some_run(true));
  CHECK(std::distance(std::sregex_iterator(text.begin(), text.end(), row),
                      std::sregex_iterator()) == 1);
}

TEST_CASE("counts") {
  const std::string text = report_tail(2, 1);
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
  auto document = json_report(some_setup(), runs, "lupine mxp", {"from outside"});
  CHECK(document["time_seconds"] == 11);
  CHECK(document["runs"].size() == 3);
  CHECK(document["n"] == 3000000000);
  CHECK(document["hosts"] == std::vector<std::string>{"first", "second"});
  CHECK(document["notes"] == std::vector<std::string>{"a warning", "a note", "from outside"});
  CHECK(document["phases"]["update"]["slowest_host"] == "second");
  CHECK(document["bad_pivot"].is_null());

  runs[2] = some_run(false);
  runs[2].result.bad_pivot = 17;
  document = json_report(some_setup(), runs, "lupine mxp", {});
  CHECK(document["passed"] == false);
  CHECK(document["bad_pivot"] == 17);
  CHECK(document.dump().find("nan") == std::string::npos);
}

TEST_CASE("progress: a line a second at most") {
  ProgressLines lines;
  CHECK_FALSE(lines.line({10, 1000, 0.5}));
  const auto line = lines.line({500, 1000, 2});
  REQUIRE(line);
  CHECK(contains(*line, " 87.5 % done, 500 columns left, 2 s, 0 s left, "));
  CHECK_FALSE(lines.line({600, 1000, 2.9}));
  const auto last = lines.line({1000, 1000, 4});
  REQUIRE(last);
  CHECK(contains(*last, "100.0 % done, 0 columns left, 4 s, 0 s left, now 0.0 GFLOP/s, "));
}
