// SPDX-License-Identifier: BSD-3-Clause
#include "model/machine_model.hpp"

#include <fmt/format.h>
#include <speedwell/error.hpp>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>

#include "io/file.hpp"
#include "io/json.hpp"
#include "io/text.hpp"
#include "model/machine_json.hpp"

namespace speedwell {

namespace {

using nlohmann::ordered_json;

constexpr std::array<Word<Topology>, 4> topologies{{{Topology::single, "single"},
                                                    {Topology::star, "star"},
                                                    {Topology::fat_tree, "fat-tree"},
                                                    {Topology::dragonfly, "dragonfly"}}};
constexpr std::array<Word<DeviceKind>, 1> kinds{{{DeviceKind::cuda, "gpu"}}};
constexpr std::array<Word<OperationKind>, 8> operation_kinds{
    {{OperationKind::product, "product"},
     {OperationKind::solve_left, "solve-left"},
     {OperationKind::eliminate, "eliminate"},
     {OperationKind::exchange, "exchange"},
     {OperationKind::convert, "convert"},
     {OperationKind::generate, "generate"},
     {OperationKind::pass, "pass"},
     {OperationKind::vector_product, "vector-product"}}};
constexpr std::array precisions{Precision::fp16, Precision::bf16, Precision::fp16x3,
                                Precision::fp32, Precision::fp64};

std::string operation_key(const OperationKey& key) {
  return fmt::format("{} {}", name(key.kind), name(key.precision));
}

/// Whether every file has the operation.
bool needed(OperationKind kind, Precision precision) {
  const bool narrow = precision == Precision::fp16 || precision == Precision::bf16;
  const bool plain = precision == Precision::fp32 || precision == Precision::fp64;
  switch (kind) {
    case OperationKind::product:
      return plain || narrow;
    case OperationKind::pass:
      return precision == Precision::fp64;
    default:
      return plain;
  }
}

// The format, for reading and for writing ---------------------------------------------------------

template <class Archive>
void describe(Archive& io, LinkModel& link) {
  io.figure("bandwidth", link.bandwidth);
  io.figure("latency", link.latency, limits::not_negative);
}

template <class Archive>
void describe_operations(Archive& io, DeviceModel& device) {
  for (const auto& operation : operation_kinds)
    for (const Precision precision : precisions) {
      const OperationKey key{operation.value, precision};
      const std::string word = operation_key(key);
      if (io.has(word, needed(operation.value, precision), device.operations.contains(key)))
        io.operation(word, device.operations[key]);
    }
  io.finish(fmt::format("one of {}, a blank, and one of fp16, bf16, fp16x3, fp32, fp64",
                        all_names(operation_kinds)));
}

template <class Archive>
void describe(Archive& io, DeviceModel& device) {
  io.text("name", device.name);
  io.figure("memory", device.memory);
  io.figure("multiprocessors", device.multiprocessors, limits::count);
  io.figure("bandwidth_part", device.bandwidth_part, limits::part);
  io.figure("launch", device.launch, limits::not_negative);
  io.figure("synchronize", device.synchronize, limits::not_negative);
  io.figure("host_bandwidth", device.host_bandwidth);
  io.figure("tile", device.tile, limits::not_negative);
  io.figure("holds", device.holds);
  if (io.has("part_unit", false, device.part_unit > 0))
    io.figure("part_unit", device.part_unit, limits::count);
  io.figure("bandwidth", device.bandwidth);
  io.figure("start", device.start, limits::not_negative);
  io.object("operations", [&](Archive& operations) { describe_operations(operations, device); });
}

template <class Archive>
void describe(Archive& io, MachineModel& machine) {
  io.text("name", machine.name);
  io.text("description", machine.description);
  DeviceKind kind = DeviceKind::cuda;
  io.choice("kind", kinds, kind);
  io.text("validation", machine.validation, true);
  io.figure("nodes", machine.nodes, limits::count);
  io.figure("devices", machine.devices, limits::count);
  io.figure("cores", machine.cores, limits::count);
  io.figure("node_memory", machine.node_memory);
  if (io.has("link", machine.devices > 1, machine.link.bandwidth > 0))
    io.object("link", [&](Archive& link) { describe(link, machine.link); });
  if (io.has("port", machine.nodes > 1, machine.port.bandwidth > 0))
    io.object("port", [&](Archive& port) { describe(port, machine.port); });
  io.choice("topology", topologies, machine.topology);
  if (machine.topology == Topology::fat_tree || machine.topology == Topology::dragonfly)
    io.text("shape", machine.shape);
  io.figure("collective", machine.collective, limits::not_negative);
  io.figure("message", machine.message, limits::not_negative);
  io.figure("test", machine.test, limits::not_negative);
  io.only("ranks", [&](Archive& rank) { describe(rank, machine.device); });
}

// What one key alone does not tell ----------------------------------------------------------------

/// The numbers of a shape, such as {{2}, {32, 32}, {1, 32}, {1, 1}}; empty if it is none.
std::vector<std::vector<double>> shape_numbers(const std::string& shape) {
  std::vector<std::vector<double>> all(1);
  std::string_view rest = shape;
  while (true) {
    const std::size_t end = std::min(rest.find_first_of(";,"), rest.size());
    const auto value = number<int>(rest.substr(0, end));
    if (!value || *value < 1 || *value > most_devices) return {};
    all.back().push_back(*value);
    if (end == rest.size()) return all;
    if (rest[end] == ';') all.emplace_back();
    rest.remove_prefix(end + 1);
  }
}

/// The ports that a fat tree or a dragonfly of this shape has; 0 if it has the wrong form.
double shape_ports(Topology topology, const std::string& shape) {
  const auto lists = shape_numbers(shape);
  if (lists.size() != 4) return 0;
  const bool tree = topology == Topology::fat_tree;
  double ports = 1;
  for (std::size_t i = 0; i < 4; ++i) {
    const double levels = lists[0][0];
    const double length = tree ? (i == 0 ? 1 : levels) : (i < 3 ? 2 : 1);
    if (static_cast<double>(lists[i].size()) != length) return 0;
    if (!tree) ports *= lists[i][0];
  }
  if (tree)
    for (const double down : lists[1]) ports *= down;
  return ports;
}

/// Refuses numbers that are allowed alone, but not together.
void check_together(const MachineModel& machine, const MachineReader& io) {
  const double devices = static_cast<double>(machine.nodes) * machine.devices;
  if (devices > most_devices)
    io.refuse("nodes", fmt::format("x devices is {}", devices),
              fmt::format("at most {}", most_devices));
  if (machine.topology == Topology::single && machine.nodes > 1)
    io.refuse("topology", fmt::format("is 'single', but nodes is {}", machine.nodes),
              "star, fat-tree, dragonfly; or 1 node");
  if (!machine.shape.empty()) {
    const double ports = shape_ports(machine.topology, machine.shape);
    if (ports < devices)
      io.refuse(
          "shape",
          fmt::format("is '{}', which {}", printable(machine.shape),
                      ports == 0 ? "has the wrong form"
                                 : fmt::format("has {} ports for {} devices", ports, devices)),
          machine.topology == Topology::fat_tree
              ? "'LEVELS;DOWN,...;UP,...;CABLES,...', LEVELS numbers each, with a port for "
                "each device: the product of DOWN"
              : "'GROUPS,CABLES;CHASSIS,CABLES;ROUTERS,CABLES;PORTS', with a port for each "
                "device: GROUPS x CHASSIS x ROUTERS x PORTS");
  }
}

/// What load_machine takes, in words: a file, or one of the machines in the folders.
std::string allowed_machines(const std::vector<std::filesystem::path>& folders) {
  std::set<std::string> names;
  for (const std::filesystem::path& folder : folders) {
    std::error_code error;
    for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
         entry.increment(error))
      if (entry->path().extension() == ".json") names.insert(entry->path().stem().string());
  }
  return "a machine file (FILE.json)" +
         (names.empty() ? "; no shipped machine was found"
                        : fmt::format(", or one of {}", fmt::join(names, ", ")));
}

}  // namespace

std::string_view name(Origin origin) {
  return word_of(origins, origin);
}

std::string_view name(OperationKind kind) {
  return word_of(operation_kinds, kind);
}

const OperationModel& DeviceModel::of(OperationKind kind, Precision precision) const {
  if (const auto found = operations.find({kind, precision}); found != operations.end())
    return found->second;
  std::vector<std::string> known;
  for (const auto& [key, operation] : operations) known.push_back(operation_key(key));
  throw UsageError(fmt::format("the machine file has no operation '{}' for '{}'; allowed: {}",
                               operation_key({kind, precision}), name, fmt::join(known, ", ")));
}

MachineModel parse_machine(std::string_view json, const std::string& where) {
  const ordered_json document = parse_json(json, [&](const std::string& why) {
    throw UsageError(fmt::format("machine '{}': {}; allowed: a machine file in JSON", where, why));
  });
  MachineModel machine;
  MachineReader io(document, "", where, machine.figures);
  describe(io, machine);
  io.finish();
  check_together(machine, io);
  return machine;
}

MachineModel load_machine(const std::string& name_or_file,
                          const std::vector<std::filesystem::path>& folders) {
  const bool is_file = name_or_file.find('/') != std::string::npos ||
                       name_or_file.find(".json") != std::string::npos;
  std::vector<std::filesystem::path> places;
  if (is_file) places.emplace_back(name_or_file);
  if (!is_file)
    for (const std::filesystem::path& folder : folders)
      places.push_back(folder / (name_or_file + ".json"));
  std::string reason = "there is none of this name";
  for (const std::filesystem::path& place : places) {
    const FileText file = read_file(place.string());
    if (file.problem.empty()) {
      MachineModel machine = parse_machine(file.text, place.string());
      machine.path = place.string();
      return machine;
    }
    if (is_file || !file.is_missing) reason = file.problem;
  }
  throw UsageError(fmt::format("cannot read the machine '{}': {}; allowed: {}",
                               printable(name_or_file), reason, allowed_machines(folders)));
}

std::string machine_text(const MachineModel& machine) {
  MachineModel copy = machine;
  ordered_json document;
  MachineWriter io(document, "", copy.figures);
  describe(io, copy);
  return document.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace speedwell
