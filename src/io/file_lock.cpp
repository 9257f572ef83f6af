// SPDX-License-Identifier: BSD-3-Clause
#include "io/file_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <thread>

#include "io/file.hpp"
#include "io/output_file.hpp"

namespace speedwell {

namespace {

std::string lock_path(const std::string& path) {
  constexpr std::size_t longest = 200;
  const std::filesystem::path file = written_path(path);
  const std::string name = file.filename().string().substr(0, longest);
  return (file.parent_path() / ("." + name + ".lock")).string();
}

}  // namespace

FileLock::FileLock(const std::string& path, double patience)
    : descriptor_(::open(lock_path(path).c_str(), O_RDWR | O_CLOEXEC | O_CREAT, 0666)) {
  if (descriptor_ < 0) throw unwritten(path, error_text(errno));
  using std::chrono::steady_clock;
  const auto begin = steady_clock::now();
  // Not without a limit: the other process may be stopped.
  while (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) return;  // a disk without locks
    if (std::chrono::duration<double>(steady_clock::now() - begin).count() > patience) {
      ::close(descriptor_);
      throw unwritten(path, "another process has locked it by " + lock_path(path));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

FileLock::~FileLock() {
  ::close(descriptor_);
}

}  // namespace speedwell
