// SPDX-License-Identifier: BSD-3-Clause
#include <speedwell/error.hpp>

#include <array>
#include <csignal>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "catch.hpp"
#include "paper/children.hpp"
#include "paper/scale.hpp"
#include "setup/sizing.hpp"

namespace speedwell::test::paper_scale_tests {
using namespace speedwell::paper;

namespace {

Scenario machine_of(int nodes, int devices) {
  Scenario scenario;
  scenario.machine.name = "it's";
  scenario.machine.nodes = nodes;
  scenario.machine.devices = devices;
  scenario.device.name = "GPU";
  OperationModel& fp16 = scenario.device.operations[{OperationKind::product, Precision::fp16}];
  fp16.rate = 4e14;
  fp16.half_width = 1024;
  return scenario;
}

/// A run on P x Q ranks that takes these seconds.
Predicted run_of(std::int64_t n, int p, int q, double lu, double refine) {
  Predicted run;
  run.chosen.n = n;
  run.chosen.precision = Precision::fp16;
  run.chosen.run.nb = run.panel_width = 1024;
  run.chosen.run.nprow = p;
  run.chosen.run.npcol = q;
  run.lu_seconds = lu;
  run.refine_seconds = refine;
  run.seconds = lu + refine;
  run.gflops = benchmark_flops(n) / run.seconds / 1e9;
  return run;
}

}  // namespace

TEST_CASE("Weak scaling: n grows by the root of the ranks, or is left to memory") {
  const Scenario scenario = machine_of(4, 8);
  BenchmarkOptions asked;
  for (const Case& one : scale_cases(scenario, asked, {1, 32})) CHECK(one.options.n == 0);
  asked.n = 1001;
  const std::vector<Case> cases = scale_cases(scenario, asked, {2, 8, 32, 3, 2});
  const std::array<std::int64_t, 5> n{1001, 2002, 4004, 1226, 1001};
  const std::array ranks{2, 8, 32, 3, 2};
  REQUIRE(cases.size() == n.size());
  for (std::size_t i = 0; i < n.size(); ++i) {
    CHECK(cases[i].options.n == n[i]);
    CHECK(cases[i].scenario.ranks == ranks[i]);
    CHECK(!cases[i].sampled);
  }
}

TEST_CASE("Weak scaling on more ranks than the machine has is refused") {
  const Scenario scenario = machine_of(4, 8);
  CHECK_THROWS_WITH(scale_cases(scenario, {}, {1, 33}),
                    "--scale 33: it's has 32 ranks; allowed: 1 to 32");
  CHECK_THROWS_AS(scale_cases(scenario, {}, {0}), UsageError);
  CHECK_THROWS_AS(scale_cases(scenario, {}, {}), UsageError);
}

TEST_CASE("The product's rate is that of a rank's first update") {
  Scenario scenario = machine_of(1, 8);
  const Predicted run = run_of(100000, 2, 4, 1, 0);
  // Half of the rate at a width of 1024.
  CHECK(product_rate(scenario.device, run.chosen, 1024) == Approx(2e14).epsilon(1e-12));
  scenario.device.operations.begin()->second.half_rows = 50000;
  CHECK(product_rate(scenario.device, run.chosen, 1024) == Approx(1e14).epsilon(1e-12));
  scenario.device.operations.begin()->second.half_rows = 0;
  scenario.device.operations.begin()->second.half_columns = 75000;
  CHECK(product_rate(scenario.device, run.chosen, 1024) == Approx(5e13).epsilon(1e-12));
  scenario.device.operations.begin()->second.half_columns = 0;
  BenchmarkOptions split = run.chosen;
  split.precision = Precision::fp16x3;  // three products
  CHECK(product_rate(scenario.device, split, 1024) == Approx(2e14 / 3).epsilon(1e-12));
}

TEST_CASE("The numbers of a table of weak scaling") {
  const Scenario scenario = machine_of(1, 8);
  const std::vector<Case> cases = scale_cases(scenario, {}, {8, 1, 4, 2});
  Predicted refused;
  refused.refusal = "P x Q is wrong";
  const std::vector<Predicted> runs{refused, run_of(100000, 1, 1, 4, 1),
                                    run_of(200000, 2, 2, 10, 2.5), refused};
  const std::vector<ScaleRow> rows = scale_rows(cases, runs);
  REQUIRE(rows.size() == 4);
  const double flops = benchmark_flops(100000);
  CHECK(rows[1].teraflops == Approx(flops / 5e12).epsilon(1e-12));
  CHECK(rows[1].lu_efficiency == Approx(flops / 4 / 2e14).epsilon(1e-12));
  CHECK(rows[1].efficiency == Approx(flops / 5 / 2e14).epsilon(1e-12));
  CHECK(rows[1].weak_efficiency == 1);
  CHECK(rows[2].ranks == 4);
  CHECK(rows[2].a_rank == Approx(benchmark_flops(200000) / 12.5e12 / 4).epsilon(1e-12));
  CHECK(rows[2].weak_efficiency == Approx(rows[2].a_rank / rows[1].a_rank).epsilon(1e-12));
  CHECK(rows[2].efficiency == Approx(rows[2].a_rank / 200).epsilon(1e-12));
  CHECK(rows[2].lu_efficiency == Approx(1.25 * rows[2].efficiency).epsilon(1e-12));
  CHECK(std::isnan(rows[0].efficiency));

  const std::string text = scale_text(scenario, {}, rows);
  CHECK_THAT(text, ContainsSubstring("PREDICTED for it's (not validated on a GPU)"));
  CHECK_THAT(text, ContainsSubstring("     8 refused: P x Q is wrong\n"));
  CHECK_THAT(text, ContainsSubstring("     4     2 x 2    200000   1024     10.000     2.500"));
  const auto document = nlohmann::json::parse(scale_json(scenario, {}, rows).dump());
  CHECK(document["predicted"]["machine"] == "it's");
  CHECK(document["rows"][0]["lu_seconds"].is_null());
  CHECK(document["rows"][0]["refusal"] == "P x Q is wrong");
  CHECK(document["rows"][2]["refine_seconds"] == 2.5);
  CHECK(document["rows"][2]["weak_efficiency"] == rows[2].weak_efficiency);

  const std::string plot = scale_plot(scenario, rows);
  CHECK_THAT(plot, ContainsSubstring("set title 'PREDICTED for it''s: weak scaling'"));
  CHECK_THAT(plot, ContainsSubstring("set xtics norotate (1, 4)"));
  CHECK_THAT(plot, ContainsSubstring("\n1 133.3"));
  CHECK_THAT(plot, ContainsSubstring("\n4 106.6"));
  CHECK_THROWS_AS(scale_plot(scenario, {rows[0]}), UsageError);
}

TEST_CASE("Children reply in the order of their numbers") {
  const std::vector<ChildEnd> ends =
      run_children({2, 0, 3, 1}, 2, [](std::size_t i, const Reply& reply) {
        reply(std::string(i * 100000, 'x') + std::to_string(i));
      });
  REQUIRE(ends.size() == 4);
  for (std::size_t i = 0; i < ends.size(); ++i) {
    CHECK(ends[i].failure.empty());
    CHECK(ends[i].text == std::string(i * 100000, 'x') + std::to_string(i));
  }
  CHECK(run_children({}, 1, [](std::size_t, const Reply&) {}).empty());
}

TEST_CASE("A child that dies, throws or has nothing to say is told from others") {
  const std::vector<ChildEnd> ends =
      run_children({0, 1, 2, 3}, 3, [](std::size_t i, const Reply& reply) {
        if (i == 0) std::signal(SIGTERM, SIG_DFL), std::raise(SIGTERM);
        if (i == 1) throw std::runtime_error("it broke");
        if (i == 3) reply("well");
      });
  CHECK_THAT(ends[0].failure, ContainsSubstring("signal 15"));
  CHECK(ends[1].failure == "it broke");
  CHECK(ends[2].failure == "it ended without a result");
  CHECK(ends[3].text == "well");
  CHECK(ends[3].failure.empty());
}
}  // namespace speedwell::test::paper_scale_tests
