// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "catch.hpp"
#include "folder.hpp"
#include "model/machine_model.hpp"
#include "refusal.hpp"

namespace speedwell::test::machine_model_tests {
using nlohmann::json;

namespace {

// Beside the program in an archive of run/bundle, which has no sources.
const std::filesystem::path shipped =
    std::filesystem::exists(SPEEDWELL_MACHINES)
        ? std::filesystem::path(SPEEDWELL_MACHINES)
        : std::filesystem::read_symlink("/proc/self/exe").parent_path() /
              "../share/speedwell/machines";

std::vector<std::string> shipped_machines() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(shipped))
    names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

/// The JSON of a shipped machine.
json document(const std::string& name) {
  return json::parse(test::content(shipped / (name + ".json")));
}

MachineModel parsed(const json& document) {
  return parse_machine(document.dump(), "m.json");
}

std::string refusal_of_text(const std::string& text) {
  std::string words = test::refusal_of([&] { parse_machine(text, "m.json"); });
  CHECK(words.find('\n') == std::string::npos);
  if (!words.empty())
    CHECK_THAT(words, ContainsSubstring("'m.json'") && ContainsSubstring("allowed: "));
  return words;
}

/// The refusal of a shipped machine with one change; empty if it is accepted.
std::string refusal(const std::string& machine, const std::function<void(json&)>& change) {
  json changed = document(machine);
  change(changed);
  return refusal_of_text(changed.dump());
}

/// Calls visit(path of keys, pointer) for every member of every object of the document.
void for_each_member(const json& value, const std::string& path, const json::json_pointer& place,
                     const std::function<void(std::string, json::json_pointer)>& visit) {
  if (value.is_array())
    for (std::size_t i = 0; i < value.size(); ++i)
      for_each_member(value[i], fmt::format("{}[{}]", path, i), place / i, visit);
  if (!value.is_object()) return;
  for (const auto& [key, member] : value.items()) {
    const std::string inner = path.empty() ? key : fmt::format("{}.{}", path, key);
    visit(inner, place / key);
    for_each_member(member, inner, place / key, visit);
  }
}

bool ends_with_half(const std::string& path) {
  return path.ends_with(".half_rows") || path.ends_with(".half_columns") ||
         path.ends_with(".half_width");
}

}  // namespace

TEST_CASE("the time of an operation grows by half / size in each dimension") {
  OperationModel operation;
  operation.rate = 1e9;
  CHECK(operation.seconds(3e9, 1, 1, 1) == 3);
  operation.half_rows = 100;
  CHECK(operation.seconds(3e9, 100, 1, 1) == 6);
  operation.half_columns = 50;
  operation.half_width = 30;
  CHECK(operation.seconds(3e9, 100, 50, 10) == 48);
  const MachineModel h200 = load_machine("h200", {shipped});
  const OperationModel& product = h200.device.of(OperationKind::product, Precision::fp16);
  const auto share = [&](double k) { return 1 / (product.rate * product.seconds(1, 1e9, 1e9, k)); };
  CHECK(std::abs(share(2048) - 0.88) < 0.01);
  CHECK(std::abs(share(4096) - 0.93) < 0.01);
}

TEST_CASE("an operation that the file lacks is refused") {
  const MachineModel h200 = load_machine("h200", {shipped});
  CHECK(h200.device.of(OperationKind::pass, Precision::fp64).rate == 2.2e12);
  CHECK_THAT(
      test::refusal_of([&] { (void)h200.device.of(OperationKind::solve_left, Precision::fp16x3); }),
      ContainsSubstring("'solve-left fp16x3'") && ContainsSubstring(h200.device.name) &&
          ContainsSubstring("allowed: product fp16, product bf16, product fp32, product fp64, "
                            "solve-left fp32"));
}

TEST_CASE("a machine of processors is refused") {
  const std::string words = refusal("h200", [](json& d) { d["kind"] = "cpu"; });
  CHECK_THAT(words, ContainsSubstring("kind is 'cpu'; allowed: gpu"));
}

TEST_CASE("a machine file's values arrive in their places") {
  const MachineModel m = load_machine("h200-cluster", {shipped});
  CHECK(m.name == "h200-cluster");
  CHECK(m.validation.empty());
  CHECK(m.ranks() == 1024);
  CHECK(m.cores == 112);
  CHECK(m.node_memory == 2e12);
  CHECK(m.link.bandwidth == 4.5e11);
  CHECK(m.port.bandwidth == 5e10);
  CHECK(m.port.latency == 4e-6);
  CHECK(m.topology == Topology::fat_tree);
  CHECK(m.shape == "2;32,32;1,32;1,1");
  CHECK(m.collective == 3e-6);
  CHECK(m.message == 5e-7);
  CHECK(m.test == 1e-7);
  const DeviceModel& gpu = m.device;
  CHECK(gpu.memory == 143771.0 * 1024 * 1024);
  CHECK(gpu.multiprocessors == 132);
  CHECK(gpu.bandwidth == 4.28e12);
  CHECK(gpu.bandwidth_part == 0.5);
  CHECK(gpu.launch == 2.5e-6);
  CHECK(gpu.synchronize == 8e-6);
  CHECK(gpu.host_bandwidth == 5.5e10);
  CHECK(gpu.start == 8e-6);
  CHECK(gpu.tile == 31e-6);
  CHECK(gpu.holds);
  CHECK(gpu.of(OperationKind::product, Precision::fp16).half_width == 290);
  json other = document("h200-cluster");
  other["ranks"][0]["holds"]["value"] = false;
  CHECK_FALSE(parsed(other).device.holds);
  CHECK(gpu.part_unit == 0);
  other["ranks"][0]["part_unit"] = other["ranks"][0]["multiprocessors"];
  other["ranks"][0]["part_unit"]["value"] = 8;
  CHECK(parsed(other).device.part_unit == 8);
  CHECK(parse_machine(machine_text(parsed(other)), "its text").device.part_unit == 8);
  const Figure& memory = m.figures.at("ranks[0].memory");
  CHECK(memory.value == 143771.0 * 1024 * 1024);
  CHECK(memory.origin == Origin::measured);
  CHECK_THAT(memory.source, ContainsSubstring("143771 MiB"));
  CHECK(m.figures.at("ranks[0].operations.product fp16.half_rows").value == 128);
  CHECK(m.figures.at("port.latency").value == 4e-6);
  CHECK(m.figures.at("ranks[0].holds").value == 1);
}

TEST_CASE("a machine's text gives the same machine again, to the last digit") {
  for (const std::string& name : shipped_machines()) {
    CAPTURE(name);
    json changed = document(name);
    changed["ranks"][0]["bandwidth"]["value"] = 1e12 / 3;
    changed["message"]["value"] = 0.1 + 0.2;
    changed["ranks"][0]["operations"]["pass fp64"]["half_rows"] = 1e-20 / 7;
    changed["ranks"][0]["operations"]["product fp16x3"] =
        changed["ranks"][0]["operations"]["product fp32"];
    CHECK(json::parse(machine_text(parsed(changed))) == changed);
  }
  MachineModel bare = load_machine("h200", {shipped});
  bare.figures.clear();
  bare.cores = 5;
  const MachineModel again = parse_machine(machine_text(bare), "m.json");
  CHECK(again.cores == 5);
  CHECK(again.figures.at("cores").origin == Origin::assumed);
  CHECK_FALSE(again.figures.at("cores").source.empty());
}

TEST_CASE("every shipped machine is valid, under its own name, and every number has a source") {
  const std::vector<std::string> names = shipped_machines();
  for (const char* wanted : {"a100-x4", "b200", "b200-cluster", "gh200", "h100-cluster", "h100-x8",
                             "h200", "h200-cluster", "h200-x8"})
    CHECK(std::count(names.begin(), names.end(), wanted) == 1);
  std::set<std::string> descriptions;
  for (const std::string& name : names) {
    CAPTURE(name);
    const MachineModel machine = load_machine(name, {shipped});
    CHECK(machine.name == name);  // so no two share a name
    CHECK(descriptions.insert(machine.description).second);
    std::size_t numbers = 0;
    for_each_member(document(name), "", json::json_pointer(),
                    [&](const std::string& path, const auto& place) {
                      const json value = document(name)[place];
                      if (!value.is_number() && !value.is_boolean()) return;
                      ++numbers;
                      CAPTURE(path);
                      const std::string figure =
                          path.ends_with(".value") ? path.substr(0, path.size() - 6) : path;
                      REQUIRE(machine.figures.contains(figure));
                      CHECK(machine.figures.at(figure).source.size() > 5);
                      CHECK(machine.figures.at(figure).value ==
                            (value.is_boolean() ? 1. : value.get<double>()));
                    });
    CHECK(machine.figures.size() == numbers);
  }
}

TEST_CASE("a key that is missing, misspelt or of the wrong type is refused by its path") {
  constexpr const char* machine = "h200-cluster";
  const json base = document(machine);
  for_each_member(base, "", json::json_pointer(),
                  [&](const std::string& path, const json::json_pointer& place) {
                    CAPTURE(path);
                    const json::json_pointer parent = place.parent_pointer();
                    const std::string missing =
                        refusal(machine, [&](json& d) { d[parent].erase(place.back()); });
                    const bool optional = ends_with_half(path);
                    CHECK(missing.empty() == optional);
                    if (optional) return;
                    CHECK_THAT(missing, ContainsSubstring(path + " is missing"));
                  });
  for_each_member(
      base, "", json::json_pointer(),
      [&](const std::string& path, const json::json_pointer& place) {
        CAPTURE(path);
        for (const json& wrong : {json(), json(json::array())})
          CHECK_THAT(refusal(machine, [&](json& d) { d[place] = wrong; }),
                     ContainsSubstring(path + " is"));
        if (base[place].is_object())
          CHECK_THAT(refusal(machine, [&](json& d) { d[place]["vlaue"] = 1; }),
                     ContainsSubstring(path + ".vlaue is no key"));
        if (path.ends_with(".source") || path.ends_with(".origin"))
          CHECK_THAT(refusal(machine, [&](json& d) { d[place] = ""; }),
                     ContainsSubstring(path + " is empty"));
        if (path.ends_with(".origin"))
          CHECK_THAT(
              refusal(machine, [&](json& d) { d[place] = "guessed"; }),
              ContainsSubstring(path + " is 'guessed'; allowed: measured, datasheet, assumed"));
      });
  CHECK_THAT(refusal(machine, [](json& d) { d["ranks"][0]["start"] = 1e-6; }),
             ContainsSubstring("ranks[0].start is no object; allowed: {\"value\": VALUE, "));
  CHECK_THAT(refusal(machine, [](json& d) { d["node"] = 1; }),
             ContainsSubstring("node is no key") && ContainsSubstring("nodes"));
}

TEST_CASE("numbers that no machine has are refused by their path") {
  const std::set<std::string> may_be_zero{
      "link.latency",   "port.latency",    "collective",           "message",      "test",
      "ranks[0].start", "ranks[0].launch", "ranks[0].synchronize", "ranks[0].tile"};
  const std::set<std::string> counts{"nodes", "devices", "cores", "ranks[0].multiprocessors"};
  constexpr const char* machine = "h200-cluster";
  const json base = document(machine);
  for_each_member(
      base, "", json::json_pointer(),
      [&](const std::string& path, const json::json_pointer& place) {
        CAPTURE(path);
        const auto with = [&](const json& value) {
          return refusal(machine, [&](json& d) { d[place] = value; });
        };
        if (base[place].is_boolean())
          CHECK_THAT(with(1), ContainsSubstring(path + " is 1; allowed: true, false"));
        if (!base[place].is_number()) return;
        const std::string figure = path.substr(0, path.rfind(".value"));
        for (const json& bad : {json(-1), json(-1e-300), json(1e31), json("1"), json(true)})
          CHECK_THAT(with(bad), ContainsSubstring(path + " is " + bad.dump()));
        const bool zero = may_be_zero.contains(figure) || ends_with_half(path);
        CHECK(with(0).empty() == zero);
        if (!zero) CHECK_THAT(with(0), ContainsSubstring(path + " is 0; allowed: a "));
        if (!counts.contains(figure)) return;
        CHECK_THAT(with(1.5), ContainsSubstring(path + " is 1.5; allowed: a whole number from 1"));
        CHECK_THAT(with(65537), ContainsSubstring(path + " is 65537"));
        CHECK_THAT(with(UINT64_MAX), ContainsSubstring(path + " is 1844674407370955"));
      });
  const auto with_part = [&](double part) {
    return refusal("h200", [&](json& d) { d["ranks"][0]["bandwidth_part"]["value"] = part; });
  };
  CHECK_THAT(with_part(1.01),
             ContainsSubstring(
                 "ranks[0].bandwidth_part.value is 1.01; allowed: a number from 1e-30 to 1"));
  CHECK(with_part(1).empty());
  CHECK_THAT(refusal("h200-cluster", [](json& d) { d["nodes"]["value"] = 8193; }),
             ContainsSubstring("nodes x devices is 65544; allowed: at most 65536"));
}

TEST_CASE("every machine has the operations of its runs") {
  const auto without = [](const std::string& key) {
    return refusal("h200", [&](json& d) { d["ranks"][0]["operations"].erase(key); });
  };
  std::vector<std::string> needed{"pass fp64", "product fp16", "product bf16"};
  for (const std::string kind :
       {"product", "convert", "generate", "vector-product", "exchange", "eliminate", "solve-left"})
    for (const char* precision : {" fp32", " fp64"}) needed.push_back(kind + precision);
  for (const std::string& key : needed)
    CHECK_THAT(without(key), ContainsSubstring("ranks[0].operations." + key + " is missing"));
  for (const char* key : {"product", "product half", "product FP32", "product auto",
                          "solve_left fp32", "product tf32"})
    CHECK_THAT(refusal("h200",
                       [&](json& d) {
                         json& operations = d["ranks"][0]["operations"];
                         operations[key] = operations["product fp32"];
                       }),
               ContainsSubstring("operations." + std::string(key) + " is no key") &&
                   ContainsSubstring("vector-product"));
}

TEST_CASE("numbers that contradict each other are refused") {
  const auto with_shape = [](const char* topology, const char* shape) {
    return refusal("h200-cluster", [&](json& d) {
      d["topology"] = topology;
      d["shape"] = shape;
    });
  };
  CHECK(with_shape("fat-tree", "3;16,8,8;1,4,4;1,1,1").empty());
  CHECK(with_shape("dragonfly", "8,4;8,4;4,4;4").empty());
  CHECK_THAT(with_shape("fat-tree", "2;32,31;1,32;1,1"),
             ContainsSubstring("shape is '2;32,31;1,32;1,1', which has 992 ports for 1024"));
  CHECK_THAT(with_shape("dragonfly", "8,4;8,4;4,4;3"),
             ContainsSubstring("768 ports for 1024 devices; allowed: 'GROUPS"));
  for (const char* shape :
       {"2;32,32;1,32", "2;32,32;1;1,1", "3;32,32;1,32;1,1", "2;32,32;1,32;1,1;", "2;32,a;1,1;1,1",
        "2;32,-32;1,1;1,1", "2;99999,1;1,1;1,1", ";;;"})
    CHECK_THAT(with_shape("fat-tree", shape), ContainsSubstring("has the wrong form"));
  CHECK_THAT(with_shape("dragonfly", "8,4;8,4;4,4"), ContainsSubstring("has the wrong form"));
  CHECK_THAT(with_shape("star", "1"), ContainsSubstring("shape is no key"));
  CHECK_THAT(with_shape("ring", "1"),
             ContainsSubstring("topology is 'ring'; allowed: single, star, fat-tree, dragonfly"));
  CHECK_THAT(refusal("h200-cluster",
                     [](json& d) {
                       d["topology"] = "single";
                       d.erase("shape");
                     }),
             ContainsSubstring("topology is 'single', but nodes is 128; allowed: star"));
  CHECK_THAT(refusal("h200-cluster", [](json& d) { d["ranks"].push_back(d["ranks"][0]); }),
             ContainsSubstring("ranks has 2 objects; allowed: one"));
  CHECK_THAT(refusal("h200", [](json& d) { d["ranks"] = json::array(); }),
             ContainsSubstring("ranks is []"));
  CHECK_THAT(refusal("h200", [](json& d) { d["devices"]["value"] = 2; }),
             ContainsSubstring("link is missing"));
  CHECK_THAT(refusal("h200", [](json& d) { d["description"] = "two\nlines"; }),
             ContainsSubstring("description has control characters"));
}

TEST_CASE("a text that is no JSON is refused with its line") {
  CHECK_THAT(refusal_of_text(""), ContainsSubstring("no JSON in line 1;"));
  CHECK_THAT(refusal_of_text("{\n\"name\": tru\n}"), ContainsSubstring("no JSON in line 2;"));
  CHECK_THAT(refusal_of_text("{\n\"nodes\": NaN}"), ContainsSubstring("no JSON in line 2;"));
  constexpr std::size_t deep = 1'000'000;  // more calls within calls than a stack holds
  CHECK_THAT(
      refusal_of_text("{\n\"nodes\": " + std::string(deep, '[') + std::string(deep, ']') + "}"),
      ContainsSubstring("its lists and objects are more than 32 deep"));
  CHECK_THAT(refusal_of_text("{\n\n\"nodes\": 1e999\n\n}"),
             ContainsSubstring("a number beyond the range of FP64"));
  CHECK_THAT(refusal_of_text("{\"a\": 1,\n\"b\": {\"a\": 2},\n  \"a\": 3}"),
             ContainsSubstring("key 'a' given more than once"));
  CHECK_THAT(refusal_of_text(R"({"b": {"name": "c"}, "name": "d"})"),
             ContainsSubstring("description is missing"));
  CHECK_THAT(refusal_of_text("{}\n{}"), ContainsSubstring("no JSON in line 2;"));
  CHECK_THAT(refusal_of_text("{\"a\": \"\xff\"}"), ContainsSubstring("no JSON in line 1;"));
  CHECK_THAT(refusal_of_text("[]"), ContainsSubstring("the text is no object"));
  CHECK_THAT(refusal_of_text("17"), ContainsSubstring("the text is no object"));
  CHECK_THAT(refusal_of_text("{}"), ContainsSubstring("name is missing"));
  const std::string text = test::content(shipped / "h200.json");
  for (std::size_t length = 0; length + 2 < text.size(); length += 97)
    CHECK_THAT(refusal_of_text(text.substr(0, length)), ContainsSubstring("no JSON in line "));
}

TEST_CASE("a machine is found by its name in the first folder that has it, or as a file") {
  const Folder folder("machines");
  json mine = document("h200");
  mine["description"] = "mine";
  std::ofstream(folder / "h200.json") << mine;
  CHECK(load_machine("h200", {folder / ".", shipped}).description == "mine");
  CHECK(load_machine("h200", {shipped, folder / "."}).description != "mine");
  CHECK(load_machine("h200", {folder / "no-such-folder", shipped}).name == "h200");
  CHECK(load_machine(folder / "h200.json", {shipped}).description == "mine");
  for (const std::string name : {"h100", "", "h200.json", "./h200", "/dev", "../machines"}) {
    CAPTURE(name);
    const std::string words = test::refusal_of([&] { load_machine(name, {shipped}); });
    CHECK_THAT(words,
               ContainsSubstring("'" + name + "'") &&
                   ContainsSubstring("allowed: a machine file (FILE.json), or one of a100-x4, "
                                     "b200, b200-cluster, gh200, h100-cluster, h100-x8, h200, "
                                     "h200-cluster, h200-x8"));
    CHECK(words.find('\n') == std::string::npos);
  }
  CHECK_THAT(test::refusal_of([] { load_machine("/dev", {shipped}); }),
             ContainsSubstring("it is a folder"));
  CHECK_THAT(test::refusal_of([&] { load_machine("h200", {folder / "nowhere"}); }),
             ContainsSubstring("(FILE.json); no shipped machine was found"));
  std::ofstream(folder / "bad.json") << "{";
  CHECK_THAT(test::refusal_of([&] { load_machine(folder / "bad.json", {shipped}); }),
             ContainsSubstring(folder / "bad.json") && ContainsSubstring("no JSON in line 1;"));
}
}  // namespace speedwell::test::machine_model_tests
