#include "io/json.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>
#include <lupine/error.hpp>

#include <cerrno>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>

namespace lupine {

namespace {

namespace fs = std::filesystem;

constexpr int to_existing = O_WRONLY | O_CLOEXEC;
constexpr int to_new = to_existing | O_CREAT | O_EXCL;

std::string reason(int error) {
  return std::generic_category().message(error);
}

/// 0 or errno.
int write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno != EINTR) return errno;
    if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
  }
  // A pipe cannot be synchronized, and need not be.
  return ::fsync(descriptor) == 0 || errno == EINVAL ? 0 : errno;
}

/// 0 or errno.
int write_file(const fs::path& path, int flags, std::string_view text) {
  const int descriptor = ::open(path.c_str(), flags, 0666);
  if (descriptor < 0) return errno;
  const int error = write_all(descriptor, text);
  const int closed = ::close(descriptor) == 0 ? 0 : errno;
  return error != 0 ? error : closed;
}

/// A pipe or a device: must not be replaced by a file.
bool is_special(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  return fs::exists(status) && !fs::is_regular_file(status) && !fs::is_directory(status);
}

/// The file that `path` stands for, there or not: a link stays a link. What /dev/fd/63 links to is
/// no path.
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

int replace(const fs::path& path, std::string_view text) {
  const fs::path half = temporary(path);
  int error = write_file(half, to_new, text);
  if (error == 0 && ::rename(half.c_str(), path.c_str()) != 0) error = errno;
  if (error != 0) ::unlink(half.c_str());
  return error;
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
    // Tried, not asked: root may do anything, says access(), even where nothing can be written.
    const fs::path trial = temporary(file);
    error = write_file(trial, to_new, "");
    if (error == 0) ::unlink(trial.c_str());
  }
  if (error != 0)
    throw UsageError(
        fmt::format("{}: cannot write '{}' ({}); allowed is a file in a folder that is "
                    "there and can be written",
                    option, path, reason(error)));
}

void write_whole(const std::string& path, std::string_view text) {
  const fs::path file = target(path);
  const int error = is_special(file) ? write_file(file, to_existing, text) : replace(file, text);
  if (error != 0) throw Fault(fmt::format("cannot write '{}': {}", path, reason(error)));
}

void write_json(const std::string& path, const nlohmann::ordered_json& document) {
  using nlohmann::ordered_json;
  write_whole(path, document.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n");
}

}  // namespace lupine
