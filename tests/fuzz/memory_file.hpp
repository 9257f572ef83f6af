// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// A file that lies in memory alone, for parsers that read files.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <string>
#include <string_view>

#include "fuzz.hpp"

namespace speedwell::fuzz {

class MemoryFile {
 public:
  explicit MemoryFile(std::string_view bytes) : descriptor_(::memfd_create("input", MFD_CLOEXEC)) {
    const auto size = static_cast<ssize_t>(bytes.size());
    expect(descriptor_ >= 0 && ::write(descriptor_, bytes.data(), bytes.size()) == size,
           "no file in memory");
  }
  ~MemoryFile() { ::close(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  int descriptor() const { return descriptor_; }
  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }
  /// All bytes of the file, which other processes may have written.
  std::string content() const {
    std::string bytes(static_cast<std::size_t>(::lseek(descriptor_, 0, SEEK_END)), '\0');
    expect(::pread(descriptor_, bytes.data(), bytes.size(), 0) == std::ssize(bytes), "no content");
    return bytes;
  }

 private:
  int descriptor_;
};

}  // namespace speedwell::fuzz
