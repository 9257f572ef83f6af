// SPDX-License-Identifier: BSD-3-Clause
#include "setup/memory.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <speedwell/error.hpp>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <limits>

namespace speedwell {

namespace {

namespace fs = std::filesystem;

constexpr std::int64_t unlimited = std::numeric_limits<std::int64_t>::max();
/// Version 1 writes "no limit" as the largest multiple of the page size.
constexpr std::int64_t as_good_as_unlimited = std::int64_t{1} << 60;

std::string read(const fs::path& file) {
  std::ifstream stream(file);
  return {std::istreambuf_iterator<char>(stream), {}};
}

std::optional<std::int64_t> leading_number(std::string_view text) {
  const auto begin = text.find_first_not_of(" \t");
  if (begin == text.npos) return std::nullopt;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data() + begin, text.data() + text.size(), value);
  return error == std::errc{} ? std::optional(value) : std::nullopt;
}

/// The rest of the first line that begins with `start`.
std::optional<std::string_view> line_after(std::string_view text, std::string_view start) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    if (line.substr(0, start.size()) == start) return line.substr(start.size());
    text.remove_prefix(std::min(text.size(), line.size() + 1));
  }
  return std::nullopt;
}

/// File names of one version of control groups.
struct Files {
  const char* limit;
  const char* used;
  const char* droppable;  ///< key in memory.stat: file pages that can be dropped
};
constexpr Files version_1{"memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"};
constexpr Files version_2{"memory.max", "memory.current", "inactive_file"};

/// Bytes that one group still allows; nothing if it has no limit.
std::optional<std::int64_t> left_in_group(const fs::path& group, const Files& files) {
  const auto limit = leading_number(read(group / files.limit));
  if (!limit || *limit >= as_good_as_unlimited) return std::nullopt;
  const auto used = leading_number(read(group / files.used)).value_or(0);
  const auto droppable = stat_value(read(group / "memory.stat"), files.droppable).value_or(0);
  return std::clamp(*limit - used + droppable, std::int64_t{0}, *limit);
}

/// Lowers `memory.free` to the bytes that the group at `path` below `mount`, and the groups above
/// it, still allow. In a container, `path` may be that of the host: then the folder is not there,
/// and only the group at `mount` counts.
void respect_groups(NodeMemory& memory, const fs::path& mount, fs::path path, const Files& files) {
  for (path = path.relative_path();; path = path.parent_path()) {
    const fs::path group = path.empty() ? mount : mount / path;
    const auto left = left_in_group(group, files);
    if (left && *left < memory.free) {
      memory.free = *left;
      memory.bound = (group / files.limit).string();
    }
    if (path.empty()) return;
  }
}

}  // namespace

std::optional<std::int64_t> meminfo_bytes(std::string_view meminfo, std::string_view key) {
  const auto rest = line_after(meminfo, std::string(key) + ":");
  const auto value = rest ? leading_number(*rest) : std::nullopt;
  return value ? std::optional(*value * 1024) : std::nullopt;
}

std::optional<std::int64_t> stat_value(std::string_view stat, std::string_view key) {
  const auto rest = line_after(stat, std::string(key) + " ");
  return rest ? leading_number(*rest) : std::nullopt;
}

std::optional<std::string> group_path(std::string_view groups, std::string_view controller) {
  while (!groups.empty()) {
    const std::string_view line = groups.substr(0, groups.find('\n'));
    groups.remove_prefix(std::min(groups.size(), line.size() + 1));
    const auto first = line.find(':');
    const auto second = first == line.npos ? line.npos : line.find(':', first + 1);
    if (second == line.npos) continue;
    // A line may name several controllers: "5:cpu,cpuacct:/path".
    const std::string named = fmt::format(",{},", line.substr(first + 1, second - first - 1));
    if (named.find(fmt::format(",{},", controller)) != named.npos)
      return std::string(line.substr(second + 1));
  }
  return std::nullopt;
}

NodeMemory node_memory(const fs::path& root) {
  const std::string meminfo = read(root / "proc/meminfo");
  const auto total = meminfo_bytes(meminfo, "MemTotal");
  auto available = meminfo_bytes(meminfo, "MemAvailable");
  if (!available) available = meminfo_bytes(meminfo, "MemFree");
  if (!total || !available) throw Fault("cannot read the free memory from /proc/meminfo");

  NodeMemory memory{*total, *available, "MemAvailable"};
  const std::string groups = read(root / "proc/self/cgroup");
  const fs::path mount = root / "sys/fs/cgroup";
  if (const auto path = group_path(groups, "")) respect_groups(memory, mount, *path, version_2);
  if (const auto path = group_path(groups, "memory"))
    respect_groups(memory, mount / "memory", *path, version_1);
  return memory;
}

bool forget_resident_peak() {
  std::ofstream file("/proc/self/clear_refs");
  return static_cast<bool>(file << "5" << std::flush);  // proc(5): the "peak resident set size"
}

std::optional<std::int64_t> resident_peak() {
  return meminfo_bytes(read("/proc/self/status"), "VmHWM");
}

std::string large_pages_setting(const fs::path& root) {
  const std::string all = read(root / "sys/kernel/mm/transparent_hugepage/enabled");
  for (const char* setting : {"always", "madvise", "never"})
    if (all.find(fmt::format("[{}]", setting)) != all.npos) return setting;
  return "unknown";
}

std::optional<std::int64_t> bytes_in_large_pages() {
  return meminfo_bytes(read("/proc/self/smaps_rollup"), "AnonHugePages");
}

std::int64_t process_memory_left() {
  const std::string status = read("/proc/self/status");
  const auto left = [&](auto resource, std::string_view key) {
    rlimit limit{};
    if (::getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
        limit.rlim_cur > static_cast<rlim_t>(unlimited))
      return unlimited;
    const auto used = meminfo_bytes(status, key).value_or(0);
    return std::max(std::int64_t{0}, static_cast<std::int64_t>(limit.rlim_cur) - used);
  };
  return std::min(left(RLIMIT_AS, "VmSize"), left(RLIMIT_DATA, "VmData"));
}

}  // namespace speedwell
