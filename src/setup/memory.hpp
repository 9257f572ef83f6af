// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Memory that this process may still take: what the node has free, what its control groups and
/// its own limits leave of that.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace lupine {

/// Bytes.
struct NodeMemory {
  std::int64_t total = 0;
  std::int64_t free = 0;
  std::string bound;  ///< what bounds `free`: "MemAvailable", or the file of a control group
};

/// The value of a line "MemAvailable:  24344180 kB", in bytes.
std::optional<std::int64_t> meminfo_bytes(std::string_view meminfo, std::string_view key);
/// The value of a line "inactive_file 8192".
std::optional<std::int64_t> stat_value(std::string_view stat, std::string_view key);
/// The path of a process in control groups (/proc/self/cgroup): of version 2 (a line "0::/path"),
/// or of a controller of version 1 ("4:memory:/path").
std::optional<std::string> group_path(std::string_view groups, std::string_view controller);

/// Free memory of this node, control groups of version 1 and 2 respected up to their root. What a
/// control group holds of files that can be dropped counts as free.
/// @param root where /proc and /sys are; tests bring their own
/// @throws Fault if /proc/meminfo cannot be read
NodeMemory node_memory(const std::filesystem::path& root = "/");

/// What RLIMIT_AS and RLIMIT_DATA leave to this process; the largest number if they are not set.
std::int64_t process_memory_left();

}  // namespace lupine
