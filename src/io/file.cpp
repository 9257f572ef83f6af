// SPDX-License-Identifier: BSD-3-Clause
#include "io/file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

namespace lupine {

namespace {

UsageError unreadable(const std::string& path, const std::string& reason) {
  return UsageError(
      fmt::format("cannot read '{}': {}; allowed: a file that can be read", path, reason), path);
}

}  // namespace

std::string error_text(int error) {
  return std::generic_category().message(error);
}

int read_file(const std::string& path, std::string& text) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return errno;
  std::array<char, 4096> part;
  ssize_t length = 0;
  while ((length = ::read(descriptor, part.data(), part.size())) != 0) {
    if (length > 0) text.append(part.data(), static_cast<std::size_t>(length));
    if (length < 0 && errno != EINTR) break;
  }
  const int error = length < 0 ? errno : 0;
  ::close(descriptor);
  return error;
}

// O_NONBLOCK: opening a pipe, which is refused below, must not wait for a writer.
InputFile::InputFile(std::string path)
    : path_(std::move(path)),
      descriptor_(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
  struct stat status {};
  if (descriptor_ < 0 || ::fstat(descriptor_, &status) != 0) {
    const int error = errno;
    if (descriptor_ >= 0) ::close(descriptor_);
    throw unreadable(path_, error_text(error));
  }
  size_ = status.st_size;
  if (S_ISREG(status.st_mode)) return;
  ::close(descriptor_);
  throw unreadable(path_, S_ISDIR(status.st_mode) ? "it is a folder" : "it is no regular file");
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

}  // namespace lupine
