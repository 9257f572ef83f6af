// SPDX-License-Identifier: BSD-3-Clause
#include "io/gnuplot.hpp"

#include <fmt/format.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <speedwell/error.hpp>

#include <array>
#include <cerrno>
#include <string_view>

#include "io/file.hpp"
#include "io/json.hpp"

namespace speedwell {

namespace {

/// A file without a name, in memory. Unlike a pipe, it never makes a writer wait for a reader.
class MemoryFile {
 public:
  MemoryFile() : descriptor_(::memfd_create("gnuplot", MFD_CLOEXEC)) {
    if (descriptor_ < 0) throw Fault(fmt::format("no file in memory: {}", error_text(errno)));
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  ~MemoryFile() { ::close(descriptor_); }

  int descriptor() const { return descriptor_; }

  /// Writes the text, and goes back to the beginning of the file for its reader.
  void fill(std::string_view text) const {
    while (!text.empty()) {
      const ssize_t written = ::write(descriptor_, text.data(), text.size());
      if (written < 0 && errno != EINTR)
        throw Fault(fmt::format("cannot write in memory: {}", error_text(errno)));
      if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
    }
    ::lseek(descriptor_, 0, SEEK_SET);
  }

  std::string text() const {
    ::lseek(descriptor_, 0, SEEK_SET);
    std::string all;
    std::array<char, 4096> part{};
    for (ssize_t length = 0; (length = ::read(descriptor_, part.data(), part.size())) != 0;)
      if (length > 0)
        all.append(part.data(), static_cast<std::size_t>(length));
      else if (errno != EINTR)
        throw Fault(fmt::format("cannot read from memory: {}", error_text(errno)));
    return all;
  }

 private:
  int descriptor_;
};

/// The last line of gnuplot's message, which says what is wrong; the lines before it show the
/// script.
std::string last_line(std::string_view text) {
  const auto end = text.find_last_not_of(" \n");
  if (end == text.npos) return "";
  text = text.substr(0, end + 1);
  const auto begin = text.rfind('\n');
  return std::string(begin == text.npos ? text : text.substr(begin + 1));
}

/// Waits for the child, and returns its status as waitpid gives it. @throws Fault
int wait_for(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0)
    if (errno != EINTR) throw Fault(fmt::format("gnuplot is lost: {}", error_text(errno)));
  return status;
}

/// gnuplot's standard output for this script. @throws Fault
std::string output_of(const std::string& script) {
  const MemoryFile input;
  const MemoryFile output;
  const MemoryFile complaints;
  input.fill(script);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, input.descriptor(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output.descriptor(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, complaints.descriptor(), STDERR_FILENO);
  // -d: without the settings of the user and of the machine.
  std::array<std::string, 2> words{"gnuplot", "-d"};
  std::array<char*, 3> arguments{words[0].data(), words[1].data(), nullptr};
  pid_t child = 0;
  const int error =
      ::posix_spawnp(&child, words[0].c_str(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw Fault(fmt::format("gnuplot cannot be started: {}", error_text(error)));
  const int status = wait_for(child);
  if (status == 0) return output.text();
  const std::string words_of_it = last_line(complaints.text());
  throw Fault(fmt::format("gnuplot failed{}{}",
                          WIFSIGNALED(status) ? fmt::format(" by signal {}", WTERMSIG(status)) : "",
                          words_of_it.empty() ? "" : ": " + words_of_it));
}

}  // namespace

// Between single quotes, a doubled quote is the only escape.
std::string gnuplot_string(std::string_view text) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? "''" : std::string(1, c);
  return result + "'";
}

void check_gnuplot(const std::string& option) {
  try {
    output_of("set terminal svg\n");
  } catch (const Fault& fault) {
    throw UsageError(fmt::format(
        "{}: {}; allowed where gnuplot can be started and draws SVG (Debian: gnuplot-nox)", option,
        fault.what()));
  }
}

void draw(const std::string& script, const std::string& path) {
  const std::string picture = output_of(script);
  if (picture.empty()) throw Fault("gnuplot drew nothing");
  write_whole(path, picture);
}

}  // namespace speedwell
