// SPDX-License-Identifier: BSD-3-Clause
#include "io/file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "io/text.hpp"

namespace speedwell {

namespace {

UsageError unreadable(const std::string& path, const std::string& reason) {
  return UsageError(fmt::format("cannot read '{}': {}; allowed: a file that can be read",
                                printable(path, longest_path), reason),
                    path);
}

/// A regular file that was opened, or why it was not.
struct Opened {
  int descriptor = -1;
  std::int64_t size = 0;
  int error = 0;  ///< errno, where a call failed
  std::string problem;
};

Opened open_regular(const std::string& path) {
  // O_NONBLOCK: opening a pipe, which is refused below, must not wait for a writer.
  Opened file;
  file.descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat status {};
  if (file.descriptor < 0 || ::fstat(file.descriptor, &status) != 0) {
    file.error = errno;
    file.problem = error_text(file.error);
  } else if (!S_ISREG(status.st_mode)) {
    file.problem = S_ISDIR(status.st_mode) ? "it is a folder" : "it is no regular file";
  }
  file.size = status.st_size;
  if (file.problem.empty() || file.descriptor < 0) return file;
  ::close(file.descriptor);
  file.descriptor = -1;
  return file;
}

}  // namespace

std::string error_text(int error) {
  return std::generic_category().message(error);
}

FileText read_file(const std::string& path) {
  const Opened opened = open_regular(path);
  if (!opened.problem.empty())
    return {"", opened.problem, opened.error == ENOENT || opened.error == ENOTDIR};
  const InputFile file(path, opened.descriptor, opened.size);
  if (file.size() > longest_text)
    return {"", fmt::format("it has {} bytes, more than {} MiB", file.size(), longest_text >> 20)};
  return {file.text(0, file.size()), "", false};
}

InputFile::InputFile(std::string path, int descriptor, std::int64_t size)
    : path_(std::move(path)), descriptor_(descriptor), size_(size) {}

InputFile::InputFile(std::string path) : path_(std::move(path)), descriptor_(-1) {
  const Opened file = open_regular(path_);
  if (!file.problem.empty()) throw unreadable(path_, file.problem);
  descriptor_ = file.descriptor;
  size_ = file.size;
}

InputFile::InputFile(InputFile&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      size_(other.size_) {}

InputFile::~InputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void InputFile::read(std::int64_t offset, std::span<std::byte> bytes) const {
  while (!bytes.empty()) {
    const ssize_t length = ::pread(descriptor_, bytes.data(), bytes.size(), offset);
    if (length == 0) throw error("has become shorter while it was read");
    if (length < 0 && errno != EINTR)
      throw Fault(fmt::format("cannot read '{}': {}", path_, error_text(errno)));
    if (length < 0) continue;
    bytes = bytes.subspan(static_cast<std::size_t>(length));
    offset += length;
  }
}

std::string InputFile::text(std::int64_t offset, std::int64_t length) const {
  std::string text(static_cast<std::size_t>(std::clamp<std::int64_t>(size_ - offset, 0, length)),
                   '\0');
  read(offset, std::as_writable_bytes(std::span(text)));
  return text;
}

UsageError InputFile::error(const std::string& words) const {
  return UsageError(fmt::format("'{}' {}", path_, words), path_);
}

UsageError InputFile::error_at(std::int64_t offset, const std::string& words) const {
  constexpr std::int64_t piece = 1 << 20;
  std::int64_t line = 1;
  for (std::int64_t begin = 0; begin < offset; begin += piece) {
    const std::string part = text(begin, std::min(piece, offset - begin));
    line += std::count(part.begin(), part.end(), '\n');
  }
  return UsageError(fmt::format("'{}' line {}: {}", path_, line, words),
                    fmt::format("{}, line {}", path_, line));
}

}  // namespace speedwell
