// SPDX-License-Identifier: BSD-3-Clause
#include "io/output_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <limits>
#include <map>
#include <system_error>
#include <thread>

#include "io/file.hpp"
#include "io/text.hpp"

namespace speedwell {

namespace {

namespace fs = std::filesystem;

constexpr int to_existing = O_WRONLY | O_CLOEXEC;
constexpr int to_new = to_existing | O_CREAT | O_EXCL;

constexpr int no_wait = O_NONBLOCK | O_NOCTTY;

/// Seconds that a pipe's reader may read nothing. 0: any time.
double& patience_with_readers() {
  static double seconds = 0;
  return seconds;
}

/// Pipes that check_writable() has opened, by their paths, for OutputFiles to come: to close one
/// would tell its reader that nothing comes.
std::map<std::string, int>& open_pipes() {
  static std::map<std::string, int> pipes;
  return pipes;
}

/// Opens a special file, without waiting for a reader of a pipe for longer than it takes a shell to
/// start one. -1 and errno: ENXIO where nobody reads.
int open_special(const std::string& path) {
  constexpr auto patience = std::chrono::seconds(1);
  const auto end = std::chrono::steady_clock::now() + patience;
  int descriptor = -1;
  while ((descriptor = ::open(path.c_str(), to_existing | no_wait)) < 0 &&
         (errno == EINTR || errno == ENXIO) && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  return descriptor;
}

/// Waits until the pipe has room. 0, or errno.
int wait_for_reader(int descriptor) {
  const double limit = patience_with_readers();
  const double longest = std::numeric_limits<int>::max();
  const int milliseconds = limit > 0 ? static_cast<int>(std::min(1000 * limit, longest)) : -1;
  pollfd pipe{.fd = descriptor, .events = POLLOUT, .revents = 0};
  const int ready = ::poll(&pipe, 1, milliseconds);
  return ready == 0 ? ETIMEDOUT : ready < 0 && errno != EINTR ? errno : 0;
}

int open_special_again(const std::string& path) {
  const auto pipe = open_pipes().find(path);
  return pipe != open_pipes().end() ? ::fcntl(pipe->second, F_DUPFD_CLOEXEC, 0)
                                    : open_special(path);
}

std::string words_of(int error) {
  if (error == ETIMEDOUT)
    return fmt::format("a pipe whose reader has read nothing for {:g} s", patience_with_readers());
  return error == ENXIO ? "a pipe or device that nobody reads" : error_text(error);
}

/// Whether the path is a pipe or a device, which a file must not replace.
bool is_special(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  return fs::exists(status) && !fs::is_regular_file(status) && !fs::is_directory(status);
}

/// 0 if there may be a file of this path, else errno: of links in a circle, of too long a name.
int error_of_path(const fs::path& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 || errno == ENOENT ? 0 : errno;
}

/// The path of a file beside `path`. Its name is short enough whatever that of `path` is.
fs::path temporary(const fs::path& path) {
  constexpr std::size_t longest = 200;
  return path.parent_path() /
         fmt::format(".{}.{}.tmp", path.filename().string().substr(0, longest), ::getpid());
}

}  // namespace

// A special file is its own target: the text of a link such as /dev/fd/63 is not a path.
std::string written_path(const std::string& path) {
  if (is_special(path) || error_of_path(path) != 0) return path;
  constexpr int most_links = 40;
  std::error_code error;
  fs::path file = fs::absolute(path, error);
  for (int i = 0; i < most_links && fs::is_symlink(file, error); ++i)
    file = file.parent_path() / fs::read_symlink(file, error);
  return file.string();
}

void limit_waits_for_readers(double seconds) {
  patience_with_readers() = seconds;
}

bool is_replaced(const std::string& path) {
  return !is_special(path);
}

void check_writable(const std::string& path, const std::string& option) {
  const fs::path file = written_path(path);
  std::error_code ignored;
  int error = path.empty() ? ENOENT : error_of_path(file);
  if (error != 0) {
    // There is nothing to try.
  } else if (fs::is_directory(file, ignored)) {
    error = EISDIR;
  } else if (is_special(file)) {
    const int descriptor = open_special_again(file);
    error = descriptor < 0 ? errno : 0;
    const bool stays =
        error == 0 && fs::is_fifo(file, ignored) && open_pipes().emplace(file, descriptor).second;
    if (error == 0 && !stays) ::close(descriptor);
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
                    option, printable(path, longest_path), words_of(error)));
}

OutputFile::OutputFile(const std::string& path)
    : path_(written_path(path)),
      half_(is_special(path_) || error_of_path(path_) != 0 ? "" : temporary(path_).string()),
      descriptor_(half_.empty() ? open_special_again(path_) : ::open(half_.c_str(), to_new, 0666)) {
  if (descriptor_ >= 0) return;
  note_error(errno);
  half_.clear();  // a file of this name was not made here
}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!half_.empty()) ::unlink(half_.c_str());
}

void OutputFile::note_error(int error) {
  if (error_ == 0) error_ = error;
}

void OutputFile::write(std::string_view piece) {
  while (error_ == 0 && !piece.empty()) {
    const ssize_t written = ::write(descriptor_, piece.data(), piece.size());
    if (written < 0 && errno == EAGAIN)
      note_error(wait_for_reader(descriptor_));
    else if (written < 0 && errno != EINTR)
      note_error(errno);
    if (written > 0) piece.remove_prefix(static_cast<std::size_t>(written));
  }
}

std::string OutputFile::finish() {
  // fsync of a pipe fails with EINVAL, which is no error here.
  if (error_ == 0 && ::fsync(descriptor_) != 0 && errno != EINVAL) note_error(errno);
  if (descriptor_ >= 0 && ::close(descriptor_) != 0) note_error(errno);
  descriptor_ = -1;
  if (error_ == 0 && !half_.empty() && ::rename(half_.c_str(), path_.c_str()) != 0)
    note_error(errno);
  if (error_ != 0) return words_of(error_);
  half_.clear();
  return "";
}

UsageError unwritten(const std::string& path, const std::string& why) {
  return UsageError(fmt::format("cannot write '{}': {}; allowed: a file in a folder that can be "
                                "written, on a disk with room for it",
                                printable(path, longest_path), why),
                    path);
}

void write_whole(const std::string& path, std::string_view text) {
  OutputFile file(path);
  file.write(text);
  if (const std::string why = file.finish(); !why.empty()) throw unwritten(path, why);
}

}  // namespace speedwell
