// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Memory that this process may still allocate: the node's free memory, within the limits of the
/// process's control groups and its own resource limits.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace speedwell {

/// Memory of a node, in bytes.
struct NodeMemory {
  std::int64_t total = 0;
  std::int64_t free = 0;
  std::string bound;  ///< origin of `free`: "MemAvailable", or a control group's limit file
};

/// The value of the line that begins with `key`, such as "MemAvailable:  24344180 kB", in bytes.
std::optional<std::int64_t> meminfo_bytes(std::string_view meminfo, std::string_view key);
/// The value of the line that begins with `key`, such as "inactive_file 8192".
std::optional<std::int64_t> stat_value(std::string_view stat, std::string_view key);
/// The path of a process's control group, from the text of /proc/self/cgroup: the group of version
/// 2 (line "0::/path") if `controller` is empty, else that controller's group of version 1 (line
/// "4:memory:/path").
std::optional<std::string> group_path(std::string_view groups, std::string_view controller);

/// Free memory of this node, within the limits of this process's control groups (version 1 and 2)
/// and of all groups above them. A group's cached file pages that the kernel can drop count as
/// free.
/// @param root folder of proc/ and sys/; tests give another one
/// @throws Fault if /proc/meminfo cannot be read
NodeMemory node_memory(const std::filesystem::path& root = "/");

/// Forgets how much memory of this process has been resident at most: from now on,
/// resident_peak() tells of what follows. False where the system does not do so.
bool forget_resident_peak();

/// Bytes of this process that have been resident at once at most: its data, the pages of its
/// program and libraries, and memory that it shares with other processes. Nothing where the system
/// does not tell.
std::optional<std::int64_t> resident_peak();

/// What the system does where a program asks for large pages: "always", "madvise" (gives them where
/// they are asked for), "never", or "unknown". @param root as in node_memory()
std::string large_pages_setting(const std::filesystem::path& root = "/");

/// Bytes of this process that lie in large pages now. Nothing where the system does not tell.
std::optional<std::int64_t> bytes_in_large_pages();

/// Bytes that RLIMIT_AS and RLIMIT_DATA still allow this process; the largest std::int64_t if
/// neither is set.
std::int64_t process_memory_left();

/// Bytes that this process may still allocate, as one of `processes` alike that share the node.
/// @throws Fault if /proc/meminfo cannot be read
inline std::int64_t allocatable_memory(int processes = 1) {
  return std::min(node_memory().free / processes, process_memory_left());
}

}  // namespace speedwell
