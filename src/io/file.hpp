// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Files, read whole or in parts.
#pragma once

#include <lupine/error.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace lupine {

/// Appends all of the file to `text`. Returns 0, or errno of what failed: ENOENT where there is
/// none.
int read_file(const std::string& path, std::string& text);

/// A regular file, open to be read in parts, by several threads too.
class InputFile {
 public:
  /// @throws UsageError that names the path and the reason
  explicit InputFile(std::string path);
  InputFile(InputFile&& other) noexcept;
  InputFile& operator=(InputFile&&) = delete;
  ~InputFile();

  const std::string& path() const { return path_; }
  /// When it was opened.
  std::int64_t size() const { return size_; }
  /// Fills `bytes` with those from `offset` on.
  /// @throws UsageError where the file has become shorter meanwhile, Fault
  void read(std::int64_t offset, std::span<std::byte> bytes) const;
  /// The same as text; fewer where the file ends.
  std::string text(std::int64_t offset, std::int64_t length) const;

  /// One line: "'A.npy' <words>", and where.
  UsageError error(const std::string& words) const;
  /// The same about the line (1-based) that holds the byte at `offset`.
  UsageError error_at(std::int64_t offset, const std::string& words) const;

 private:
  std::string path_;
  int descriptor_;
  std::int64_t size_ = 0;
};

}  // namespace lupine
