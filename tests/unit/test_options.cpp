// SPDX-License-Identifier: BSD-3-Clause
#include <speedwell/error.hpp>
#include <speedwell/options.hpp>

#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "catch.hpp"
#include "core/option_text.hpp"
#include "document/benchmark_json.hpp"
#include "document/benchmark_report.hpp"
#include "document/option_json.hpp"
#include "document/option_lines.hpp"
#include "wider_options.hpp"

namespace speedwell::test::options_tests {
namespace {

template <class Options>
std::set<std::string> names() {
  std::set<std::string> all;
  for (const OptionText& option : option_texts(Options{})) {
    CAPTURE(option.name);
    CHECK(all.insert(option.name).second);
  }
  return all;
}

std::set<std::string> keys(const nlohmann::ordered_json& object) {
  std::set<std::string> all;
  for (const auto& [key, value] : object.items()) all.insert(key);
  return all;
}

}  // namespace

TEST_CASE("values of options as text") {
  CHECK(option_text(7) == "7");
  CHECK(option_text(std::numeric_limits<std::int64_t>::min()) == "-9223372036854775808");
  CHECK(option_text(std::numeric_limits<std::uint64_t>::max()) == "18446744073709551615");
  CHECK(option_text(0.1) == "0.1");
  CHECK(option_text(1e-10) == "1e-10");
  CHECK(option_text(true) == "on");
  CHECK(option_text(false) == "off");
  CHECK(option_text(std::string("a path")) == "a path");
  CHECK(option_text(Precision::bf16) == "bf16");
  CHECK(option_text(std::vector<int>{}).empty());
  CHECK(option_text(std::vector<int>{3, 1}) == "3,1");
  CHECK(option_text(std::vector<BroadcastMethod>{BroadcastMethod::ring}) == "1ring");
}

TEST_CASE("every option has a name of its own, and all structs contain the options of a run") {
  const auto run = names<RunOptions>();
  const auto benchmark = names<BenchmarkOptions>();
  const auto solve = names<SolveOptions>();
  CHECK(run.count("chunk") == 1);
  CHECK(benchmark.count("kappa") == 1);
  CHECK(solve.count("tolerance") == 1);
  for (const std::string& name : run) CHECK(benchmark.count(name) + solve.count(name) == 2);
}

TEST_CASE("a new option appears in JSON and in reports without further code") {
  WiderOptions options;
  const auto json = json_of_options(options);
  CHECK(json["newest"] == 0.25);
  CHECK(json["bcast"] == "1ring-modified");
  CHECK(keys(json) == names<WiderOptions>());

  OptionLines lines;
  lines.add(options);
  const auto others = option_texts(options.run);
  for (const OptionText& option : others) lines.skip({option.name});
  CHECK(lines.rest() == "NEWEST     : 0.25\n");
  CHECK(lines.rest().empty());
}

TEST_CASE("a report has one line for each option and lists the values of several runs in it") {
  RunOptions options;
  options.nb = 64;
  OptionLines one;
  one.add(options);
  CHECK(one.take("nb", "by hand") == "NB         : 64           chosen: by hand\n");
  CHECK(one.take("lookahead") == "DEPTH      : -1 (look-ahead)\n");
  CHECK(one.take("gpus") == "GPUS       : none\n");
  CHECK(one.rest().find("\nNB ") == std::string::npos);
  CHECK_THROWS_AS(one.take("no such option"), Fault);

  OptionLines two;
  two.add(options);
  options.nb = 128;
  two.add(options);
  two.add(options);
  CHECK(two.take("nb", "a reason") == "NB         :       64      128 \n");
}

TEST_CASE("JSON of a run has every option that applies, as asked and as chosen") {
  Setup setup;
  setup.machine.hosts = {"here"};
  setup.options.matrix = MatrixKind::fasi_higham;
  setup.options.pivoting = Pivoting::partial;
  setup.options.run.nb = 96;
  const auto document = json_report({{setup, {BenchmarkRun{}}}}, "speedwell mxp", {});
  std::set<std::string> missing = names<BenchmarkOptions>();
  for (const std::string& key : keys(document)) missing.erase(key);
  CHECK(missing == std::set<std::string>{"gpus"});  // ranks compute on CPUs and have no GPUs
  CHECK(document["nb"] == 96);
  CHECK(document["asked"]["nb"].is_null());
  CHECK(keys(document["asked"]) == names<BenchmarkOptions>());
}
}  // namespace speedwell::test::options_tests
