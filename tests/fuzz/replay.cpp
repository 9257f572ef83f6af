// SPDX-License-Identifier: BSD-3-Clause
/// Gives every file of the corpora to its target, in a build with any compiler.
/// usage: speedwell_fuzz_replay FOLDER, with a folder for each target
#include <array>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "fuzz.hpp"

namespace {

namespace fs = std::filesystem;
using namespace speedwell;

struct Target {
  std::string name;
  void (*run)(std::string_view bytes);
};

const std::array<Target, 9>& targets() {
  static const std::array<Target, 9> all{{{"command_line", fuzz::command_line},
                                          {"hpl_dat", fuzz::hpl_dat},
                                          {"machine", fuzz::machine},
                                          {"matrix_market", fuzz::matrix_market},
                                          {"npy", fuzz::npy},
                                          {"npz", fuzz::npz},
                                          {"nvidia_flags", fuzz::nvidia_flags},
                                          {"options", fuzz::options},
                                          {"profile", fuzz::profile}}};
  return all;
}

/// Returns the number of files that failed.
int replay(const Target& target, const fs::path& folder) {
  int files = 0;
  int failures = 0;
  for (const fs::directory_entry& file : fs::directory_iterator(folder)) {
    std::ifstream stream(file.path(), std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(stream), {}};
    ++files;
    try {
      target.run(bytes);
    } catch (const std::exception& error) {
      ++failures;
      std::fprintf(stderr, "%s: %s\n", file.path().c_str(), error.what());
    }
  }
  std::printf("%s: %d inputs, %d failures\n", target.name.c_str(), files, failures);
  if (files == 0) std::fprintf(stderr, "%s: no inputs\n", folder.c_str());
  return files == 0 ? 1 : failures;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: speedwell_fuzz_replay FOLDER\n");
    return 2;
  }
  try {
    int failures = 0;
    for (const Target& target : targets())
      failures += replay(target, fs::path(argv[1]) / target.name);
    return failures > 0 ? 1 : 0;
  } catch (const fs::filesystem_error& error) {
    std::fprintf(stderr, "speedwell_fuzz_replay: %s\n", error.what());
    return 3;
  }
}
