// SPDX-License-Identifier: BSD-3-Clause
// What the sensors of all ranks say of runs: energy by phases, and samples.
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/campaign.hpp"
#include "catch.hpp"
#include "check/node_check.hpp"
#include "comm/communicator.hpp"
#include "core/trace.hpp"
#include "fake_sensors.hpp"
#include "setup/run_sensors.hpp"

namespace speedwell::test::sensor_tests {
namespace {

constexpr std::int64_t joule = 1'000'000;  // in RAPL's unit

/// A node's package whose counter a test sets.
class Package {
 public:
  Package() {
    tree_.write(zone + "/name", "package-0\n");
    tree_.write(zone + "/max_energy_range_uj", std::to_string(1000 * joule));
    add(0);
  }
  SystemFiles files() const { return tree_.files(); }
  void add(std::int64_t joules) {
    at_ += joules * joule;
    tree_.write(zone + "/energy_uj", std::to_string(at_ % (1000 * joule)));
  }

 private:
  const std::string zone = "/sys/class/powercap/intel-rapl:0";
  FakeTree tree_;
  std::int64_t at_ = 990 * joule;  // it wraps around
};

TEST_CASE("energy: phases apart, what lies between them left out, each node once", "[sensors]") {
  const Communicator all = Communicator::duplicate(comm_world());
  Package package;
  RunSensors sensors(all, {}, package.files());
  const auto stage = [&](Activity activity, std::int64_t joules) {
    sensors.stage_begins();
    package.add(joules);
    sensors.stage_ends(activity);
    package.add(1000 / 7);  // between the stages
  };
  for (int run = 0; run < 2; ++run) {
    stage(Activity::generation, 100);
    stage(Activity::factorization, 200 + run);
    stage(Activity::refinement, 30);
    stage(Activity::factorization, 5);  // another precision
    stage(Activity::refinement, 7);
    stage(Activity::verification, 50);
    const EnergyReport energy = sensors.take(all).energy;
    REQUIRE(energy.phases == std::vector<std::string>{"lu", "refinement"});
    REQUIRE(energy.sum.size() == 2);
    // All ranks of these tests are on one node, whose first rank reads.
    CHECK(energy.parts.size() == 1);
    CHECK(energy.parts.front().rank == 0);
    CHECK(*energy.sum[0] == Approx(205 + run));
    CHECK(*energy.sum[1] == Approx(37));
    CHECK(energy.missing.empty());
    CHECK(energy.begin <= energy.end);
  }
  const EnergyReport nothing = sensors.take(all).energy;
  CHECK(nothing.parts.empty());
  CHECK(!total_joules(nothing.sum));
}

TEST_CASE("energy: a stage that ends by an exception is a stage", "[sensors]") {
  const Communicator all = Communicator::duplicate(comm_world());
  Package package;
  RunSensors sensors(all, {}, package.files());
  const SteadyClock clock;
  const RunContext run(clock, nullptr, {.meter = &sensors});
  CHECK_THROWS(run.stage(Activity::factorization, [&] {
    package.add(3);
    throw std::runtime_error("no factors");
  }));
  CHECK(*sensors.take(all).energy.sum[0] == Approx(3));
}

TEST_CASE("a campaign has the energy and the samples of each run", "[sensors]") {
  const Communicator all = Communicator::duplicate(comm_world());
  BenchmarkOptions options;
  options.n = 150;
  options.run.nb = 16;
  options.run.device = DeviceKind::cpu;
  Campaign campaign(all, {options});
  int runs = 0;
  const auto note = [&](const Setup&, const BenchmarkRun& run, int, const RunTrace& trace) {
    ++runs;
    REQUIRE(run.sensors.has_value());
    const EnergyReport& energy = run.sensors->energy;
    CHECK(energy.begin <= energy.end);
    CHECK(energy.end - energy.begin < 60);
    CHECK(!energy.parts.empty());  // a figure, or a reason
    REQUIRE(run.update_rates.size() == static_cast<std::size_t>(all.size()));
    REQUIRE(run.sensors->monitors.size() == static_cast<std::size_t>(all.size()));
    for (std::size_t rank = 0; rank < run.sensors->monitors.size(); ++rank) {
      const auto samples = nlohmann::json::parse(run.sensors->monitors[rank]);
      CHECK(samples.at("rank") == rank);
      CHECK(samples.at("samples_taken") >= 1);
      // The first rank of the node has its processors.
      CHECK(samples.at("series").empty() == (rank != 0));
    }
    REQUIRE(!trace.ranks.empty());
    CHECK(!trace.ranks.front().counters.empty());
  };
  campaign.run(0, 2, {.traced = true, .monitor = MonitorOptions{.seconds = 0.05}}, {}, note);
  CHECK(runs == (all.rank() == 0 ? 2 : 0));
}

TEST_CASE("a check measures every rank, on any grid", "[sensors]") {
  const Communicator all = Communicator::duplicate(comm_world());
  RunOptions options;
  options.device = DeviceKind::cpu;
  options.nprow = all.size();
  options.npcol = 1;
  bool admitted = false;
  const NodeCheck check =
      check_nodes(comm_world(), options, 0.2, [&](const auto&) { admitted = true; });
  CHECK(admitted);
  const auto ranks = static_cast<std::size_t>(all.size());
  REQUIRE(check.places.size() == ranks);
  CHECK(check.figures.size() == (ranks > 1 ? 6 : 4));
  for (const CheckedFigure& figure : check.figures) {
    INFO(figure.name);
    REQUIRE(figure.values.size() == ranks);
    for (const double value : figure.values) CHECK(value > 0);
  }
  for (const CheckedFact& fact : check.facts) CHECK(fact.values.size() == ranks);
  CHECK_THROWS_AS(check_nodes(comm_world(), options, 0.2,
                              [](const auto&) { throw UsageError("another machine"); }),
                  UsageError);
}

}  // namespace
}  // namespace speedwell::test::sensor_tests
