// SPDX-License-Identifier: BSD-3-Clause
#include <cmath>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "check/driver_errors.hpp"
#include "check/node_check.hpp"
#include "core/outliers.hpp"
#include "fake_sensors.hpp"

namespace speedwell::test {
namespace {

TEST_CASE("spread: median and median deviation, without what is not finite", "[check]") {
  CHECK(!spread_of({}));
  CHECK(!spread_of(std::vector<double>{NAN, INFINITY}));
  const auto odd = spread_of(std::vector<double>{5, 1, 100, 2, 4}).value();
  CHECK(odd.median == 4);
  CHECK(odd.deviation == 2);  // of 1, 3, 96, 2, 0
  const auto even = spread_of(std::vector<double>{1, NAN, 2, 10, 3}).value();
  CHECK(even.median == 2.5);
  CHECK(even.deviation == 1);  // of 1.5, 0.5, 7.5, 0.5
}

TEST_CASE("a number far worse than usual is an outlier, however the numbers spread", "[check]") {
  const Spread wide{318, 67};  // of four ranks on two cores
  CHECK(is_outlier(32, wide, Better::higher, {}));
  CHECK(is_outlier(0, wide, Better::higher, {}));
  CHECK(!is_outlier(100, wide, Better::higher, {}));
  CHECK(is_outlier(1300, wide, Better::lower, {.deviations = 30}));
  CHECK(!is_outlier(1300, wide, Better::higher, {}));
  CHECK(!is_outlier(NAN, wide, Better::higher, {}));
}

TEST_CASE("an outlier is beyond both limits, on the bad side", "[check]") {
  const Spread usual{100, 1};
  const OutlierLimits limits{.part = 0.02, .deviations = 6};
  CHECK(is_outlier(93, usual, Better::higher, limits));
  CHECK(!is_outlier(95, usual, Better::higher, limits));   // within six deviations
  CHECK(!is_outlier(200, usual, Better::higher, limits));  // better
  CHECK(is_outlier(107, usual, Better::lower, limits));
  CHECK(!is_outlier(93, usual, Better::lower, limits));
  CHECK(!is_outlier(NAN, usual, Better::higher, limits));
  const Spread equal{100, 0};
  CHECK(!is_outlier(98.5, equal, Better::higher, limits));  // within two percent
  CHECK(is_outlier(97.5, equal, Better::higher, limits));
  CHECK(shortfall(50, 100, Better::higher) == 0.5);
  CHECK(shortfall(150, 100, Better::lower) == 0.5);
}

TEST_CASE("rounds of pairs meet each pair of neighbours once, and nobody twice at a time",
          "[check]") {
  for (int size = 1; size <= 9; ++size) {
    std::multiset<std::pair<int, int>> met;
    for (int round = 0; round < pairing_rounds(size); ++round)
      for (int place = 0; place < size; ++place) {
        const auto other = partner(place, size, round);
        if (!other) continue;
        INFO("size " << size << ", round " << round << ", place " << place);
        REQUIRE(*other != place);
        CHECK(partner(*other, size, round) == place);
        if (place < *other) met.insert({place, *other});
      }
    std::multiset<std::pair<int, int>> edges;
    for (int i = 0; i + 1 < size; ++i) edges.insert({i, i + 1});
    if (size > 2) edges.insert({0, size - 1});
    CHECK(met == edges);
  }
}

TEST_CASE("findings name places by figures and by what differs", "[check]") {
  NodeCheck check;
  for (int rank = 0; rank < 5; ++rank) check.places.push_back({rank, "node", "cpu"});
  check.places[3] = {3, "node12", "GPU 5"};
  check.figures.push_back({.name = "update fp16",
                           .unit = "GFLOP/s",
                           .better = Better::higher,
                           .values = {915, 914, 916, 812, NAN}});
  check.facts.push_back({"MPI", {"a", "b", "b", "b", ""}});
  const std::vector<Finding> found = findings_of(check, {});
  REQUIRE(found.size() == 2);
  CHECK(text_of(check.places[found[0].place]) == "rank 3 on node12, GPU 5");
  CHECK(found[0].words == "update fp16 11.2 % below the median (812 against 914.5 GFLOP/s)");
  CHECK(found[1].place == 0);
  CHECK(found[1].words == "MPI is a, and b at 3 of 5 places");
}

TEST_CASE("errors that drivers have counted", "[check]") {
  GpuState gpu;
  CHECK(gpu_errors(gpu).serious.empty());  // nothing could be read
  gpu.ecc_uncorrected = 0.;
  gpu.pcie_replays = 3.;
  CHECK(gpu_errors(gpu).serious.empty());
  CHECK(gpu_errors(gpu).corrected.size() == 1);
  gpu.ecc_uncorrected = 2.;
  CHECK(gpu_errors(gpu).serious ==
        std::vector<std::string>{"errors of the GPU's memory, not corrected: 2"});

  const FakeTree tree;
  CHECK(memory_errors(tree.files()).serious.empty());
  const std::string edac = "/sys/devices/system/edac/mc/";
  tree.write(edac + "mc0/ue_count", "0\n");
  tree.write(edac + "mc0/ce_count", "5\n");
  tree.write(edac + "mc1/ce_count", "2\n");
  tree.write(edac + "power/ue_count", "9\n");
  CHECK(memory_errors(tree.files()).serious.empty());
  CHECK(memory_errors(tree.files()).corrected ==
        std::vector<std::string>{"errors of the host's memory, corrected: 7"});
  tree.write(edac + "mc1/ue_count", "1\n");
  CHECK(memory_errors(tree.files()).serious.size() == 1);
}

}  // namespace
}  // namespace speedwell::test
