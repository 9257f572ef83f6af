// SPDX-License-Identifier: BSD-3-Clause
#include "device/cuda/driver.hpp"

#include <cctype>
#include <fstream>
#include <iterator>
#include <sstream>

namespace lupine {

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

}  // namespace lupine
