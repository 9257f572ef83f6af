#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "bench/ceilings.hpp"
#include "bench/comparison.hpp"
#include "bench/host_ceilings.hpp"
#include "bench/lapack_run.hpp"
#include "catch.hpp"
#include "clocks.hpp"
#include "core/fastest.hpp"
#include "cpu/peak.hpp"
#include "report/compare_json.hpp"
#include "report/compare_plot.hpp"
#include "report/compare_report.hpp"
#include "setup/sizing.hpp"

using namespace lupine;

namespace {

/// Seconds in which n = 1000 is solved at so many GFLOP/s.
double seconds_at(double gflops) {
  return benchmark_flops(1000) / gflops / 1e9;
}

Contestant contestant(Solver solver, Precision precision, const std::string& ceiling,
                      const std::vector<double>& gflops) {
  Contestant one;
  one.solver = solver;
  one.precision = precision;
  one.ceiling = ceiling;
  one.threads = 2;
  for (const double rate : gflops)
    one.turns.push_back({seconds_at(rate), seconds_at(rate) / 10, 0.5, ""});
  return one;
}

/// HPL-MxP on two ranks at 100, dgesv on one at 40; dsgesv fails, HPL does not fit.
Comparison some_comparison() {
  Comparison all;
  all.n = 1000;
  all.contestants = {
      contestant(Solver::mxp, Precision::bf16, "update bf16", {80, 100, 90}),
      contestant(Solver::hpl, Precision::fp64, "dgemm", {}),
      contestant(Solver::dgesv, Precision::fp64, "dgemm", {40, 20, 30}),
      contestant(Solver::dsgesv, Precision::fp32, "sgemm", {70, 500, 70}),
  };
  all.contestants[0].ranks = 2;
  all.contestants[0].nb = 128;
  all.contestants[1].skipped = "it does not fit";
  all.contestants[2].turns[0].refine_seconds = unknown;
  all.contestants[3].turns[1].failure = "it gave up";
  all.ceilings = {
      {"dgemm", "GFLOP/s", "hpl, dgesv", 2, 2, {100, 60}, 110, "7 x 8 x 9"},
      {"sgemm", "GFLOP/s", "dsgesv", 2, 2, {200}, 210, "7 x 8 x 9"},
      {"update bf16", "GFLOP/s", "mxp bf16", 2, 2, {190, 200}, 220, "1 x 2 x 3"},
      {"registers bf16", "GFLOP/s", "nothing here", 2, 2, {}, 0, "", "out of memory"},
      {"memory read", "GB/s", "solves", 2, 2, {5000, 6000}, 0, ""},
  };
  return all;
}

std::string line_with(const std::string& text, const std::string& start) {
  const auto at = text.find("\n" + start);
  return at == text.npos ? "" : text.substr(at + 1, text.find('\n', at + 1) - at - 1);
}

/// Words between spaces.
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

}  // namespace

TEST_CASE("best and median") {
  CHECK(statistics({}).best == 0);
  CHECK(statistics({}).median == 0);
  CHECK(statistics({3}).median == 3);
  CHECK(statistics({5, 1, 3}).best == 5);
  CHECK(statistics({5, 1, 3}).median == 3);
  CHECK(statistics({4, 1, 8, 2}).best == 8);
  CHECK(statistics({4, 1, 8, 2}).median == 3);
}

TEST_CASE("rates, ratios and shares of contestants") {
  const Comparison all = some_comparison();
  const auto& [mxp, hpl, dgesv, dsgesv] =
      std::tie(all.contestants[0], all.contestants[1], all.contestants[2], all.contestants[3]);
  CHECK(statistics(rates(mxp, all.n)).best == Approx(100));
  CHECK(statistics(rates(mxp, all.n)).median == Approx(90));
  CHECK(ratio_to_dgesv(mxp, all) == Approx(2.5));
  CHECK(ratio_to_dgesv(dgesv, all) == Approx(1));
  // Two ranks have all of the ceiling of two; one has half of it.
  CHECK(share_of_ceiling(mxp, all) == Approx(0.5));
  CHECK(share_of_ceiling(dgesv, all) == Approx(0.8));
  CHECK(refinement_share(mxp) == Approx(0.1));
  CHECK(std::isnan(refinement_share(dgesv)));

  // Never timed as a success: not even by its turns that were none.
  CHECK_FALSE(dsgesv.passed());
  CHECK(rates(dsgesv, all.n).empty());
  CHECK(ratio_to_dgesv(dsgesv, all) == 0);
  CHECK(share_of_ceiling(dsgesv, all) == 0);
  CHECK_FALSE(all.passed());

  CHECK(hpl.passed());
  CHECK(rates(hpl, all.n).empty());
  CHECK(share_of_ceiling(hpl, all) == 0);
  CHECK(std::isnan(refinement_share(hpl)));

  Comparison alone = all;
  alone.contestants.resize(2);
  alone.ceilings.clear();
  CHECK(alone.passed());
  CHECK(ratio_to_dgesv(alone.contestants[0], alone) == 0);
  CHECK(share_of_ceiling(alone.contestants[0], alone) == 0);
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

TEST_CASE("a turn in one line") {
  const Comparison all = some_comparison();
  CHECK(turn_line(all.contestants[0], 1000, 2, 3) ==
        "n = 1000, round 2 of 3: mxp bf16 90.00 GFLOP/s, 0.007424 s");
  Contestant failed = all.contestants[3];
  failed.turns.pop_back();
  CHECK_THAT(turn_line(failed, 1000, 2, 3), ContainsSubstring("dsgesv FAILED: it gave up"));
}

TEST_CASE("comparisons as JSON") {
  Setup setup;
  setup.machine.hosts = {"host"};
  const auto document =
      json_of_comparisons(setup, {some_comparison()}, 3, 0, "lupine compare", {"a note"});
  CHECK(document["schema"] == "lupine/1");
  CHECK(document["benchmark"] == "compare");
  CHECK(document["date"] == "1970-01-01T00:00:00Z");
  CHECK(document["passed"] == false);
  CHECK(document["rounds"] == 3);
  CHECK(document["notes"].dump() == "[\"a note\"]");
  const auto& order = document["orders"][0];
  CHECK(order["n"] == 1000);
  const auto& mxp = order["contestants"][0];
  CHECK(mxp["gflops"]["best"].get<double>() == Approx(100));
  CHECK(mxp["over_dgesv"].get<double>() == Approx(2.5));
  CHECK(mxp["share_of_ceiling"].get<double>() == Approx(0.5));
  CHECK(mxp["turns"].size() == 3);
  CHECK(mxp["skipped"].is_null());
  const auto& hpl = order["contestants"][1];
  CHECK(hpl["skipped"] == "it does not fit");
  CHECK((hpl["passed"].is_null() && hpl["gflops"]["best"].is_null() && hpl["seconds"].is_null()));
  const auto& dsgesv = order["contestants"][3];
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
  CHECK_THAT(one, ContainsSubstring("200.000 with lines dashtype 2 title 'sgemm 200'"));
  CHECK(count(one, "logscale") == 0);
  // No rate: skipped, failed, not there, or of memory.
  for (const char* absent : {"'hpl", "'dsgesv", "registers", "memory"})
    CHECK(count(one, absent) == 0);

  all.n = 2000;
  all.ceilings[0].rates = {150};
  const std::string two = plot_script({some_comparison(), all}, "");
  CHECK_THAT(two, ContainsSubstring("set logscale x 2\n"));
  CHECK_THAT(two, ContainsSubstring("set xtics (1000, 2000)"));
  CHECK(count(two, "title 'mxp bf16'") == 1);
  CHECK(count(two, "\n1000 ") == 2);
  CHECK_THAT(two, ContainsSubstring("150.000 with lines dashtype 2 title 'dgemm 150'"));
}

TEST_CASE("what updates a rate over a run stands for") {
  CHECK(rate_over_run({}) == 0);
  // Half of the work at 2, half at 6: 1/4 + 1/12 of the time of rate 1.
  CHECK(rate_over_run(std::vector<ShapeRate>{{1, 2}, {1, 6}}) == Approx(3));

  for (const std::int64_t n : {1, 2, 3, 7, 100, 1000}) {
    const auto shapes = update_shapes(n, 2, 3, 128, 400);
    double weights = 0;
    for (const UpdateShape& shape : shapes) {
      weights += shape.weight;
      CHECK((shape.rows >= 1 && shape.columns >= 1 && shape.rows <= 400));
      CHECK(shape.width == std::min<std::int64_t>(n, 128));
    }
    CHECK(weights == Approx(1));
  }
  const auto shapes = update_shapes(1000, 2, 1, 128, 600);
  REQUIRE(shapes.size() == 4);
  CHECK((shapes[0].rows == 500 && shapes[0].columns == 600));
  CHECK((shapes[3].rows == 125 && shapes[3].columns == 250));
  CHECK(shapes[0].weight == Approx(16. / 30));
  // What is cut to one size is measured once.
  const auto capped = update_shapes(1000, 1, 1, 128, 100);
  REQUIRE(capped.size() == 1);
  CHECK(capped[0].weight == Approx(1));
  CHECK(update_shapes(std::numeric_limits<std::int64_t>::max(), 1, 1, 1, 8).size() == 1);
}

TEST_CASE("LAPACK takes part where it fits") {
  REQUIRE(has_lapack());
  CHECK(lapack_obstacle(LapackDriver::dgesv, 1000, 8e6).empty());
  CHECK_THAT(lapack_obstacle(LapackDriver::dgesv, 1000, 7.9e6), ContainsSubstring("GiB"));
  CHECK(lapack_obstacle(LapackDriver::dsgesv, 1000, 12.1e6).empty());
  CHECK_FALSE(lapack_obstacle(LapackDriver::dsgesv, 1000, 11.9e6).empty());
  CHECK_FALSE(
      lapack_obstacle(LapackDriver::dgesv, std::numeric_limits<std::int64_t>::max(), 1e18).empty());
}

TEST_CASE("residuals that are none") {
  CHECK(residual_failure(1, 16).empty());
  CHECK_FALSE(residual_failure(16, 16).empty());
  CHECK_FALSE(residual_failure(unknown, 16).empty());
  CHECK(residual_failure(100, 0).empty());
}

TEST_CASE("loops in registers do all of their work") {
  const Peaks& all = peaks();
  // Every sum goes to 1 from whatever it begins with: each step takes it closer by a quarter.
  CHECK(all.fp64.run(400) == Approx(static_cast<double>(all.fp64.operations_a_step) / 2));
  CHECK(all.fp32.run(400) == Approx(static_cast<double>(all.fp32.operations_a_step) / 2));
  CHECK(all.fp64.run(1) > all.fp64.run(2));
  const RegisterLoop bf16 = bf16_peak();
  if (bf16.operations_a_step > 0) {
    // 1 * 1 + 1/2 * 1/2 a lane and step.
    const double lanes = static_cast<double>(bf16.operations_a_step) / 4;
    CHECK(bf16.run(5) - bf16.run(1) == 4 * 1.25 * lanes);
  }
}

TEST_CASE("passes over memory") {
  std::vector<double> memory(3 * 1001);
  std::iota(memory.begin(), memory.end(), 0);
  peaks().triad(memory.data() + 1001, memory.data() + 2002, 2, memory.data(), 1001);
  for (const int i : {0, 1, 7, 500, 999, 1000})
    CHECK(memory[static_cast<std::size_t>(i)] == (1001. + i) + 2 * (2002. + i));
  std::vector<std::uint64_t> words(1000, 3);
  CHECK(peaks().sum_of_words(words.data(), 1000) == 3000);
  on_parts(words, 3, [](std::span<std::uint64_t> part) {
    for (std::uint64_t& word : part) ++word;
  });
  CHECK(std::accumulate(words.begin(), words.end(), std::uint64_t{0}) >= 3000 + 996);
  CHECK(*std::max_element(words.begin(), words.end()) == 4);
}

TEST_CASE("ceilings are work over the time of its fastest pass") {
  const test::CountingClock clock;  // so that every pass takes a second
  const double fp64 = register_rate(Precision::fp64, 1, 0, clock);
  const double steps = fp64 / static_cast<double>(peaks().fp64.operations_a_step);
  CHECK(steps >= 1e5);  // many beside the threads' start and end
  CHECK(register_rate(Precision::fp64, 3, 0, clock) == 3 * fp64);
  CHECK(register_rate(Precision::fp32, 1, 0, clock) ==
        steps * static_cast<double>(peaks().fp32.operations_a_step));
  CHECK(register_rate(Precision::bf16, 1, 0, clock) ==
        steps * static_cast<double>(bf16_peak().operations_a_step));
  CHECK(register_rate(Precision::fp16, 1, 0, clock) == 0);
  for (const MemoryPass pass : {MemoryPass::read, MemoryPass::triad})
    CHECK(memory_rate(pass, 1 << 20, 2, 0, clock) == 1 << 20);
}

TEST_CASE("a step in FP32 is twice as much work as one in FP64") {
  CHECK(peaks().fp32.operations_a_step == 2 * peaks().fp64.operations_a_step);
}

TEST_CASE("rates of products are those of their shapes") {
  const test::CountingClock clock;
  const auto device = make_device({.threads = 1});
  const auto shapes = update_shapes(64, 1, 1, 16, 1000);
  for (const Product product : {Product::update, Product::gemm}) {
    const ProductRate rate = product_rate(*device, product, Precision::fp32, shapes, 0, clock);
    // The largest does most in a second.
    CHECK(rate.best == 2. * 64 * 64 * 16);
    CHECK(rate.best_shape == "64 x 64 x 16");
    CHECK((rate.run > 0 && rate.run < rate.best));
  }
}

TEST_CASE("products of any shape") {
  const auto device = make_device({.threads = 1});
  for (const std::int64_t rows : {1, 5, 200})
    for (const std::int64_t columns : {1, 7, 300})
      for (const std::int64_t width : {1, 3, 100}) {
        ProductTrial trial(*device, Product::update, Precision::fp16, rows, columns, width);
        trial.run({});
        CHECK(trial.flops() == 2. * static_cast<double>(rows * columns * width));
      }
}

TEST_CASE("the fastest of several runs") {
  test::SetClock clock;
  const std::array<double, 4> times{3, 2, 4, 2.5};
  int runs = 0;
  const auto work = [&] { clock.time += times.at(static_cast<std::size_t>(runs++)); };
  CHECK(fastest(clock, 0, work) == 3);
  CHECK(runs == 1);
  runs = 0;
  CHECK(fastest(clock, 0, work, 3) == 2);
  CHECK(runs == 3);
  runs = 1;
  CHECK(fastest(clock, 7, work) == 2);  // the third begins after 6 seconds
  CHECK(runs == 4);
  CHECK(fastest(clock, 0, [] {}) > 0);
}

TEST_CASE("the machine's clock goes forward") {
  const SteadyClock clock;
  const double begin = clock.now();
  while (clock.now() == begin) {
  }
  CHECK(clock.now() > begin);
}
