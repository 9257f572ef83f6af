// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// A tree in the place of /sys and /proc, and a library in the place of NVML.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include "folder.hpp"
#include "sensors/nvml.hpp"
#include "sensors/system_file.hpp"

namespace speedwell::test {

class FakeTree {
 public:
  std::string path(const std::string& file) const { return folder_ / file.substr(1); }
  SystemFiles files() const { return SystemFiles(folder_ / ""); }
  /// Writes a file; what was there before is gone.
  void write(const std::string& file, const std::string& text) const {
    std::filesystem::remove_all(path(file));
    std::filesystem::create_directories(std::filesystem::path(path(file)).parent_path());
    std::ofstream(path(file), std::ios::binary) << text;
  }
  /// Makes a folder, which nobody can read as a file: root can read every file.
  void folder(const std::string& name) const {
    std::filesystem::remove_all(path(name));
    std::filesystem::create_directories(path(name));
  }
  void remove(const std::string& name) const { std::filesystem::remove_all(path(name)); }

 private:
  Folder folder_{"sensors"};
};

/// tests/cli/fake_nvml.cpp. The destructor takes back what was set.
class FakeNvml {
 public:
  FakeNvml() = default;
  FakeNvml(const FakeNvml&) = delete;
  FakeNvml& operator=(const FakeNvml&) = delete;
  ~FakeNvml() {
    for (const std::string& name : set_) ::unsetenv(name.c_str());
  }
  /// A number, or "error N", which the library gives from now on. No other thread may run.
  void set(const std::string& name, const std::string& value) const {
    set_.insert("SPEEDWELL_FAKE_NVML_" + name);
    ::setenv(("SPEEDWELL_FAKE_NVML_" + name).c_str(), value.c_str(), 1);
  }
  Nvml open() const { return Nvml(library()); }
  /// Where it was built; in an archive of programs, in their folder.
  static std::string library() {
    const std::filesystem::path built = SPEEDWELL_FAKE_NVML;
    if (std::filesystem::exists(built)) return built;
    return std::filesystem::read_symlink("/proc/self/exe").parent_path() / built.filename();
  }
  /// The second of its GPUs.
  GpuSensor gpu() const { return *open().gpu("0000:65:00.0"); }

 private:
  mutable std::set<std::string> set_;
};

}  // namespace speedwell::test
