// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Reading files, whole or in parts.
#pragma once

#include <speedwell/error.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace speedwell {

/// The system's words for the error number `error` (errno), such as "No space left on device".
std::string error_text(int error);

/// The content of a small file, or why it cannot be read.
struct FileText {
  std::string text;
  std::string problem;      ///< in words; empty: the file was read
  bool is_missing = false;  ///< there is no such file
};

/// Bytes of the longest file that read_file() reads: 64 MiB.
constexpr std::int64_t longest_text = std::int64_t{64} << 20;

/// Reads a regular file of at most `longest_text` bytes, whole.
FileText read_file(const std::string& path);

/// A regular file that is open to be read in parts. Several threads may read at the same time.
class InputFile {
 public:
  /// @throws UsageError that names the path and the reason
  explicit InputFile(std::string path);
  InputFile(InputFile&& other) noexcept;
  InputFile& operator=(InputFile&&) = delete;
  ~InputFile();

  const std::string& path() const { return path_; }
  int descriptor() const { return descriptor_; }
  /// Bytes in the file when it was opened.
  std::int64_t size() const { return size_; }
  /// Fills `bytes` with the file's bytes from `offset` on.
  /// @throws UsageError if the file has become shorter since it was opened; Fault if it cannot be
  ///         read
  void read(std::int64_t offset, std::span<std::byte> bytes) const;
  /// `length` bytes from `offset` on; fewer if the file ends before. @throws as read
  std::string text(std::int64_t offset, std::int64_t length) const;

  /// An error about this file, in one line: "'A.npy' <words>".
  UsageError error(const std::string& words) const;
  /// An error about the line that holds the byte at `offset`: "'A.mtx' line 3: <words>".
  UsageError error_at(std::int64_t offset, const std::string& words) const;

 private:
  InputFile(std::string path, int descriptor, std::int64_t size);
  friend FileText read_file(const std::string& path);

  std::string path_;
  int descriptor_;
  std::int64_t size_ = 0;
};

}  // namespace speedwell
