// SPDX-License-Identifier: BSD-3-Clause
#include "device/cuda/driver.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cctype>
#include <fstream>
#include <iterator>
#include <sstream>

namespace speedwell {

// "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build  (...)"
std::string driver_version(std::string_view proc) {
  std::istringstream first_line{std::string(proc.substr(0, proc.find('\n')))};
  for (std::string word; first_line >> word;)
    if (std::isdigit(static_cast<unsigned char>(word.front())) != 0 && word.find('.') != word.npos)
      return word;
  return "";
}

std::string loaded_driver() {
  std::ifstream file("/proc/driver/nvidia/version");
  return driver_version(std::string{std::istreambuf_iterator<char>(file), {}});
}

bool has_driver() {
  if (!loaded_driver().empty()) return true;
  void* library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
  if (library != nullptr) dlclose(library);
  return library != nullptr;
}

std::string cuda_version(int version) {
  return fmt::format("CUDA {}.{}", version / 1000, version % 1000 / 10);
}

std::string driver_needed(int version) {
  const int driver = version / 1000 == 12 ? 525 : version / 1000 == 13 ? 580 : 0;
  const std::string cuda = cuda_version(version);
  return driver == 0 ? fmt::format("needed is one for {} or later", cuda)
                     : fmt::format("{} needs driver {} or later", cuda, driver);
}

}  // namespace speedwell
