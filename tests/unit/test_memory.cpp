// SPDX-License-Identifier: BSD-3-Clause
#include <sys/mman.h>
#include <unistd.h>
#include <speedwell/error.hpp>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <tuple>

#include "catch.hpp"
#include "setup/memory.hpp"

namespace speedwell::test::memory_tests {
namespace fs = std::filesystem;

namespace {

constexpr std::int64_t gib = std::int64_t{1} << 30;

using Files = std::map<std::string, std::string>;

/// A folder with files in it. The destructor removes it.
class Folder {
 public:
  explicit Folder(const Files& files)
      : path_(fs::temp_directory_path() / ("speedwell-memory-" + std::to_string(::getpid()))) {
    fs::remove_all(path_);
    for (const auto& [name, text] : files) {
      fs::create_directories((path_ / name).parent_path());
      std::ofstream(path_ / name) << text;
    }
  }
  ~Folder() { fs::remove_all(path_); }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

const std::string meminfo =
    "MemTotal:       16777216 kB\n"
    "MemFree:         1048576 kB\n"
    "MemAvailable:    8388608 kB\n";

}  // namespace

TEST_CASE("lines of /proc/meminfo") {
  CHECK(meminfo_bytes(meminfo, "MemTotal") == 16 * gib);
  CHECK(meminfo_bytes(meminfo, "MemAvailable") == 8 * gib);
  CHECK_FALSE(meminfo_bytes(meminfo, "Mem"));
  CHECK_FALSE(meminfo_bytes(meminfo, "SwapFree"));
  CHECK_FALSE(meminfo_bytes("", "MemTotal"));
  CHECK_FALSE(meminfo_bytes("MemTotal: much\n", "MemTotal"));
  CHECK(meminfo_bytes("MemTotal: 1 kB", "MemTotal") == 1024);
}

TEST_CASE("lines of memory.stat") {
  const std::string stat = "anon 5\ntotal_inactive_file 9\ninactive_file 7\n";
  CHECK(stat_value(stat, "inactive_file") == 7);
  CHECK(stat_value(stat, "total_inactive_file") == 9);
  CHECK_FALSE(stat_value(stat, "active_file"));
}

TEST_CASE("paths in /proc/self/cgroup") {
  const std::string groups = "9:name=systemd:/a\n4:cpu,memory:/b/c:d\n2:memoryless:/e\n0::/f\n";
  CHECK(group_path(groups, "memory") == "/b/c:d");
  CHECK(group_path(groups, "") == "/f");
  CHECK_FALSE(group_path(groups, "pids"));
  CHECK_FALSE(group_path("", ""));
  CHECK_FALSE(group_path("nonsense\n", "memory"));
}

TEST_CASE("without control groups, MemAvailable is the free memory") {
  const Folder folder(Files{{"proc/meminfo", meminfo}});
  const NodeMemory memory = node_memory(folder.path());
  CHECK(memory.total == 16 * gib);
  CHECK(memory.free == 8 * gib);
  CHECK(memory.bound == "MemAvailable");
}

TEST_CASE("free memory on an old kernel without MemAvailable") {
  const Folder folder(Files{{"proc/meminfo", "MemTotal: 4194304 kB\nMemFree: 1048576 kB\n"}});
  CHECK(node_memory(folder.path()).free == gib);
}

TEST_CASE("control groups of version 2 bound the free memory") {
  const Folder folder(Files{{"proc/meminfo", meminfo},
                            {"proc/self/cgroup", "0::/job/step\n"},
                            {"sys/fs/cgroup/job/step/memory.max", "max\n"},
                            {"sys/fs/cgroup/job/memory.max", std::to_string(3 * gib) + "\n"},
                            {"sys/fs/cgroup/job/memory.current", std::to_string(2 * gib) + "\n"},
                            {"sys/fs/cgroup/job/memory.stat",
                             "active_file 1\ninactive_file " + std::to_string(gib / 2) + "\n"}});
  const NodeMemory memory = node_memory(folder.path());
  CHECK(memory.free == gib + gib / 2);
  CHECK(memory.bound == (folder.path() / "sys/fs/cgroup/job/memory.max").string());
}

TEST_CASE("in a container the group is the mount itself") {
  const Folder folder(Files{{"proc/meminfo", meminfo},
                            {"proc/self/cgroup", "0::/somewhere/outside\n"},
                            {"sys/fs/cgroup/memory.max", std::to_string(2 * gib)},
                            {"sys/fs/cgroup/memory.current", "0\n"}});
  CHECK(node_memory(folder.path()).free == 2 * gib);
}

TEST_CASE("control groups of version 1 bound the free memory") {
  const Folder folder(Files{
      {"proc/meminfo", meminfo},
      {"proc/self/cgroup", "4:memory:/slurm/job\n0::/\n"},
      {"sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"},
      {"sys/fs/cgroup/memory/slurm/job/memory.limit_in_bytes", std::to_string(5 * gib) + "\n"},
      {"sys/fs/cgroup/memory/slurm/job/memory.usage_in_bytes", std::to_string(2 * gib) + "\n"},
      {"sys/fs/cgroup/memory/slurm/job/memory.stat",
       "total_inactive_file " + std::to_string(gib) + "\n"}});
  CHECK(node_memory(folder.path()).free == 4 * gib);
}

TEST_CASE("the free memory of a control group lies between 0 and its limit") {
  for (const auto& [used, inactive, left] :
       {std::tuple{5 * gib, std::int64_t{0}, std::int64_t{0}}, std::tuple{gib, 4 * gib, 2 * gib}}) {
    const Folder folder(
        Files{{"proc/meminfo", meminfo},
              {"proc/self/cgroup", "0::/\n"},
              {"sys/fs/cgroup/memory.max", std::to_string(2 * gib)},
              {"sys/fs/cgroup/memory.current", std::to_string(used)},
              {"sys/fs/cgroup/memory.stat", "inactive_file " + std::to_string(inactive) + "\n"}});
    CHECK(node_memory(folder.path()).free == left);
  }
}

TEST_CASE("a limit above the available memory has no effect") {
  const Folder folder(Files{{"proc/meminfo", meminfo},
                            {"proc/self/cgroup", "0::/\n"},
                            {"sys/fs/cgroup/memory.max", std::to_string(12 * gib)}});
  CHECK(node_memory(folder.path()).free == 8 * gib);
}

TEST_CASE("without /proc the free memory is unknown") {
  CHECK_THROWS_AS(node_memory("/nowhere"), Fault);
}

TEST_CASE("this machine has free memory") {
  const NodeMemory memory = node_memory();
  CHECK(memory.free > 0);
  CHECK(memory.free <= memory.total);
  CHECK(process_memory_left() > 0);
}

TEST_CASE("the resident peak, and its return to what is resident") {
  // Mapped, since a sanitizer keeps what a program frees.
  const auto touch = [] {
    constexpr std::size_t bytes = std::size_t{64} << 20;
    void* data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(data != MAP_FAILED);
    std::memset(data, 'x', bytes);
    REQUIRE(munmap(data, bytes) == 0);
  };
  if (!forget_resident_peak()) {
    WARN("this system does not set the peak back");
    return;
  }
  const auto before = resident_peak();
  REQUIRE(before);
  touch();
  CHECK(*resident_peak() > *before + (60 << 20));
  REQUIRE(forget_resident_peak());
  CHECK(*resident_peak() < *before + (30 << 20));
}
}  // namespace speedwell::test::memory_tests
