// SPDX-License-Identifier: BSD-3-Clause
#include "app/system_facts.hpp"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <system_error>

#include "comm/agreement.hpp"
#include "document/report_parts.hpp"
#include "host/blas_library.hpp"
#include "host/processor.hpp"
#include "io/file.hpp"
#include "revision.hpp"
#include "setup/memory.hpp"

namespace speedwell {

namespace {

using nlohmann::ordered_json;

/// The first line of a file; empty where there is none.
std::string first_line(const std::filesystem::path& path) {
  const std::string text = read_file(path.string()).text;
  return text.substr(0, text.find('\n'));
}

/// "Debian GNU/Linux 12 (bookworm), Linux 6.1.0"; empty if it is not known.
std::string operating_system() {
  std::istringstream lines(read_file("/etc/os-release").text);
  const std::string key = "PRETTY_NAME=";
  std::string name;
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with(key)) name = line.substr(key.size());
  std::erase(name, '"');
  utsname kernel{};
  if (::uname(&kernel) != 0) return name;
  return fmt::format("{}{}{} {}", name, name.empty() ? "" : ", ", kernel.sysname, kernel.release);
}

/// The network adapters that RDMA knows: "mlx5_0 400 Gb/sec (4X NDR)". Empty where there are none.
std::vector<std::string> interconnect() {
  std::vector<std::string> adapters;
  std::error_code error;
  for (const auto& device : std::filesystem::directory_iterator("/sys/class/infiniband", error))
    for (const auto& port : std::filesystem::directory_iterator(device.path() / "ports", error))
      adapters.push_back(fmt::format("{} {}", device.path().filename().string(),
                                     first_line(port.path() / "rate")));
  std::ranges::sort(adapters);
  return adapters;
}

ordered_json this_node() {
  const ProcessorInfo processor = processor_info();
  const std::vector<std::string> adapters = interconnect();
  return {{"host", host_name()},
          {"processor", processor.model},
          {"instruction_sets", processor.instruction_sets},
          {"cores", processor.cores},
          {"memory_bytes", node_memory().total},
          {"operating_system", text_or_null(operating_system())},
          {"interconnect", adapters.empty() ? ordered_json(nullptr) : ordered_json(adapters)}};
}

const char* compiler() {
#if defined(__clang__)
  return "clang " __clang_version__;
#elif defined(__GNUC__)
  return "GCC " __VERSION__;
#else
  return "";
#endif
}

}  // namespace

ordered_json system_facts(const Communicator& world) {
  const std::vector<std::string> all = world.all_gather(agreed(world, [] {
    return this_node().dump(-1, ' ', false, ordered_json::error_handler_t::replace);
  }));
  if (world.rank() != 0) return nullptr;
  ordered_json nodes = ordered_json::array();
  for (const std::string& text : all) {
    ordered_json node = ordered_json::parse(text);
    const auto same = std::ranges::find_if(
        nodes, [&](const ordered_json& one) { return one["host"] == node["host"]; });
    if (same != nodes.end()) {
      (*same)["ranks"] = (*same)["ranks"].get<int>() + 1;
      continue;
    }
    node["ranks"] = 1;
    nodes.push_back(std::move(node));
  }
  return {
      {"schema", "speedwell/1"},
      {"implementation", fmt::format("Speedwell {} ({})", SPEEDWELL_VERSION, SPEEDWELL_REVISION)},
      {"compiler", text_or_null(compiler())},
      {"mpi", mpi_version()},
      {"blas", blas_description()},
      {"onednn", onednn_description()},
      {"nodes", std::move(nodes)}};
}

}  // namespace speedwell
