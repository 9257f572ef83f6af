// SPDX-License-Identifier: BSD-3-Clause
#include "io/output_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>
#include <lupine/error.hpp>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "io/file.hpp"

namespace lupine {

namespace {

namespace fs = std::filesystem;

constexpr int to_existing = O_WRONLY | O_CLOEXEC;
constexpr int to_new = to_existing | O_CREAT | O_EXCL;

/// Whether the path is a pipe or a device, which a file must not replace.
bool is_special(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  return fs::exists(status) && !fs::is_regular_file(status) && !fs::is_directory(status);
}

/// The path of the file to which `path` leads through symbolic links, whether it exists or not. A
/// special file is its own target: the text of a link such as /dev/fd/63 is not a path.
fs::path target(const std::string& path) {
  if (is_special(path)) return path;
  constexpr int most_links = 40;
  std::error_code error;
  fs::path file = fs::absolute(path, error);
  for (int i = 0; i < most_links && fs::is_symlink(file, error); ++i)
    file = file.parent_path() / fs::read_symlink(file, error);
  return file;
}

fs::path temporary(const fs::path& path) {
  return path.parent_path() / fmt::format(".{}.{}.tmp", path.filename().string(), ::getpid());
}

}  // namespace

void check_writable(const std::string& path, const std::string& option) {
  const fs::path file = target(path);
  std::error_code ignored;
  int error = 0;
  if (path.empty()) {
    error = ENOENT;
  } else if (fs::is_directory(file, ignored)) {
    error = EISDIR;
  } else if (is_special(file)) {
    error = ::access(file.c_str(), W_OK) == 0 ? 0 : errno;
  } else {
    // Tries to make a file: access() says that root may write, even where writing fails.
    const fs::path trial = temporary(file);
    const int descriptor = ::open(trial.c_str(), to_new, 0666);
    error = descriptor < 0 ? errno : 0;
    if (error == 0) ::close(descriptor);
    if (error == 0) ::unlink(trial.c_str());
  }
  if (error != 0)
    throw UsageError(
        fmt::format("{}: cannot write '{}' ({}); allowed is a file in a folder that is "
                    "there and can be written",
                    option, path, error_text(error)));
}

OutputFile::OutputFile(const std::string& path)
    : path_(target(path)),
      half_(is_special(path_) ? "" : temporary(path_).string()),
      descriptor_(half_.empty() ? ::open(path_.c_str(), to_existing)
                                : ::open(half_.c_str(), to_new, 0666)) {
  if (descriptor_ >= 0) return;
  note_error();
  half_.clear();  // a file of this name was not made here
}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!half_.empty()) ::unlink(half_.c_str());
}

void OutputFile::note_error() {
  if (error_ == 0) error_ = errno;
}

void OutputFile::write(std::string_view piece) {
  while (error_ == 0 && !piece.empty()) {
    const ssize_t written = ::write(descriptor_, piece.data(), piece.size());
    if (written < 0 && errno != EINTR) note_error();
    if (written > 0) piece.remove_prefix(static_cast<std::size_t>(written));
  }
}

std::string OutputFile::finish() {
  // fsync of a pipe fails with EINVAL, which is no error here.
  if (error_ == 0 && ::fsync(descriptor_) != 0 && errno != EINVAL) note_error();
  if (descriptor_ >= 0 && ::close(descriptor_) != 0) note_error();
  descriptor_ = -1;
  if (error_ == 0 && !half_.empty() && ::rename(half_.c_str(), path_.c_str()) != 0) note_error();
  if (error_ != 0) return error_text(error_);
  half_.clear();
  return "";
}

void write_whole(const std::string& path, std::string_view text) {
  OutputFile file(path);
  file.write(text);
  if (const std::string why = file.finish(); !why.empty())
    throw Fault(fmt::format("cannot write '{}': {}", path, why));
}

}  // namespace lupine
