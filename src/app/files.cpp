// SPDX-License-Identifier: BSD-3-Clause
#include "app/files.hpp"

#include <fmt/format.h>
#include <lupine/error.hpp>

#include <filesystem>

#include "io/json.hpp"

namespace lupine {

namespace {

namespace fs = std::filesystem;

/// Whether both paths name the same file. False for devices and pipes, which may be given twice.
bool same_file(const std::string& a, const std::string& b) {
  const auto is_device = [](const std::string& path) {
    return fs::exists(path) && !fs::is_regular_file(path);
  };
  if (is_device(a) || is_device(b)) return false;
  return fs::weakly_canonical(fs::absolute(a)) == fs::weakly_canonical(fs::absolute(b)) ||
         (fs::exists(a) && fs::exists(b) && fs::equivalent(a, b));
}

}  // namespace

void check_outputs(const std::vector<NamedFile>& outputs, const std::vector<NamedFile>& inputs) {
  std::vector<NamedFile> before = inputs;
  for (const NamedFile& output : outputs) {
    if (output.path.empty()) continue;
    check_writable(output.path, output.option);
    for (const NamedFile& other : before)
      if (!other.path.empty() && same_file(other.path, output.path))
        throw UsageError(fmt::format("{} and {} both name '{}'; allowed: a file for each of them",
                                     other.option, output.option, output.path));
    before.push_back(output);
  }
}

}  // namespace lupine
