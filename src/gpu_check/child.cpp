// SPDX-License-Identifier: BSD-3-Clause
#include "child.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>
#include <utility>

#include "check_clock.hpp"

namespace speedwell::gpu_check {

namespace {

constexpr std::size_t most_kept = std::size_t{1} << 20;
constexpr int milliseconds_of_a_look = 50;

// Set for the signal handler: whether there is a child, which must be ended first.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
volatile std::sig_atomic_t child_runs = 0;
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
volatile std::sig_atomic_t asked_to_end = 0;
// The process of the Companion, which must not be ended with a child.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
std::atomic<pid_t> companion = -1;

extern "C" void note_end(int signal) {
  if (child_runs == 0) _exit(128 + signal);
  asked_to_end = signal;
}

/// The parent of each process of the machine.
std::map<pid_t, pid_t> parents() {
  std::map<pid_t, pid_t> result;
  DIR* folder = opendir("/proc");
  if (folder == nullptr) return result;
  while (const dirent* entry = readdir(folder)) {
    const auto pid = static_cast<pid_t>(std::strtol(entry->d_name, nullptr, 10));
    if (pid <= 0) continue;
    std::ifstream file(fmt::format("/proc/{}/stat", pid));
    std::string line;
    std::getline(file, line);
    // The name, in parentheses, may contain any character.
    const std::size_t end = line.rfind(')');
    if (end == std::string::npos) continue;
    std::istringstream rest(line.substr(end + 1));
    char state = 0;
    pid_t parent = 0;
    if (rest >> state >> parent) result[pid] = parent;
  }
  closedir(folder);
  return result;
}

/// All descendants of this process except for the companion. It is called when a child has ended or
/// must end, so all of them belong to that child. A process group does not suffice: mpirun's ranks
/// have groups of their own.
std::vector<pid_t> descendants() {
  const std::map<pid_t, pid_t> all = parents();
  std::vector<pid_t> found;
  for (const auto& [pid, parent] : all) {
    pid_t at = pid;
    for (std::size_t steps = 0; at > 1 && at != getpid() && steps < all.size(); ++steps) {
      const auto up = all.find(at);
      at = up == all.end() ? 0 : up->second;
    }
    if (at == getpid() && pid != at && pid != companion) found.push_back(pid);
  }
  return found;
}

/// Kills all descendants, repeatedly since they may start others, and collects their statuses.
void end_descendants() {
  for (int round = 0; round < 40; ++round) {
    while (waitpid(-1, nullptr, WNOHANG) > 0) {
    }
    const std::vector<pid_t> left = descendants();
    if (left.empty()) return;
    for (const pid_t pid : left) kill(pid, SIGKILL);
    usleep(milliseconds_of_a_look * 1000);
  }
}

/// The words as execv takes them: pointers, followed by null.
std::vector<char*> arguments(const std::vector<std::string>& command) {
  std::vector<char*> words;
  words.reserve(command.size() + 1);
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  return words;
}

/// Runs in the new process and never returns. It allocates no memory, since another thread may have
/// held the allocator's lock during the fork.
[[noreturn]] void become(char* const* words, int out, int err) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) std::signal(signal, SIG_DFL);
  const int null = open("/dev/null", O_RDONLY);
  if (null >= 0) dup2(null, STDIN_FILENO);
  dup2(out, STDOUT_FILENO);
  dup2(err, STDERR_FILENO);
  execv(words[0], words);
  constexpr std::string_view why = "cannot be started\n";
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, why.data(), why.size());
  _exit(127);
}

struct Pipe {
  std::array<int, 2> ends{-1, -1};
  Pipe() {
    if (pipe2(ends.data(), O_CLOEXEC) != 0) ends = {-1, -1};
    if (ends[0] >= 0) fcntl(ends[0], F_SETFL, O_NONBLOCK);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe() {
    for (const int end : ends)
      if (end >= 0) close(end);
  }
  void close_writing() {
    if (ends[1] >= 0) close(ends[1]);
    ends[1] = -1;
  }
  /// Returns whether there was something to read.
  bool drain(std::string& text, const Listener& listener) const {
    std::array<char, 65536> bytes{};
    bool any = false;
    for (ssize_t got = 1; got > 0;) {
      got = read(ends[0], bytes.data(), bytes.size());
      if (got <= 0) continue;
      any = true;
      const std::string_view piece(bytes.data(), static_cast<std::size_t>(got));
      text.append(piece);
      if (listener) listener(piece);
      if (text.size() > 2 * most_kept) text.erase(0, text.size() - most_kept);
    }
    return any;
  }
};

/// Waits for the child and reads its output meanwhile.
void follow(pid_t child, double seconds, const Pipe& out, const Pipe& err, const Listener& listener,
            Outcome& outcome) {
  const Clock& clock = check_clock();
  const double begin = clock.now();
  double last_output = begin;
  for (int status = 0;;) {
    std::array<pollfd, 2> ends{pollfd{out.ends[0], POLLIN, 0}, pollfd{err.ends[0], POLLIN, 0}};
    poll(ends.data(), ends.size(), milliseconds_of_a_look);
    // The child has closed a pipe but still runs, so poll() would return at once.
    if (((ends[0].revents | ends[1].revents) & POLLHUP) != 0) usleep(1000);
    const double look = clock.now();
    const bool from_out = out.drain(outcome.out, listener);
    const bool from_err = err.drain(outcome.err, listener);
    if (from_out || from_err) last_output = look;
    outcome.seconds = clock.now() - begin;
    outcome.silent = begin + outcome.seconds - last_output;
    if (waitpid(child, &status, WNOHANG) == child) {
      if (WIFEXITED(status)) outcome.status = WEXITSTATUS(status);
      if (WIFSIGNALED(status)) outcome.signal = WTERMSIG(status);
      return;
    }
    if (outcome.seconds < seconds && asked_to_end == 0) continue;
    outcome.timed_out = true;
    kill(-child, SIGKILL);
    return;
  }
}

}  // namespace

std::string Outcome::ending() const {
  if (!started) return "not started";
  if (timed_out) return fmt::format("not through after {:.0f} s", seconds);
  if (signal != 0) return fmt::format("killed by signal {}", signal);
  return fmt::format("status {}", status);
}

Outcome run_child(const std::vector<std::string>& command, double seconds,
                  const Listener& listener) {
  Outcome outcome;
  const std::vector<char*> words = arguments(command);
  Pipe out;
  Pipe err;
  child_runs = 1;
  const pid_t child = out.ends[0] < 0 || err.ends[0] < 0 ? -1 : fork();
  if (child == 0) become(words.data(), out.ends[1], err.ends[1]);
  if (child < 0) {
    child_runs = 0;
    outcome.err = fmt::format("no process: {}", std::strerror(errno));
    return outcome;
  }
  setpgid(child, child);  // parent and child both do it, since either may run first
  outcome.started = true;
  out.close_writing();
  err.close_writing();
  follow(child, seconds, out, err, listener, outcome);
  end_descendants();
  if (asked_to_end != 0) _exit(128 + asked_to_end);
  child_runs = 0;
  out.drain(outcome.out, listener);
  err.drain(outcome.err, listener);
  for (std::string* text : {&outcome.out, &outcome.err})
    if (text->size() > most_kept) text->erase(0, text->size() - most_kept);
  return outcome;
}

Companion::Companion(const std::vector<std::string>& command) {
  const std::vector<char*> words = arguments(command);
  Pipe out;
  const int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
  child_ = out.ends[0] < 0 ? -1 : fork();
  if (child_ == 0) become(words.data(), out.ends[1], null < 0 ? STDERR_FILENO : null);
  if (null >= 0) close(null);
  ended_ = child_ < 0;
  companion = child_;
  std::swap(output_, out.ends[0]);
}

Companion::~Companion() {
  if (child_ > 0 && !ended_) kill(child_, SIGKILL);
  if (child_ > 0) waitpid(child_, nullptr, ended_ ? WNOHANG : 0);
  companion = -1;
  if (output_ >= 0) close(output_);
}

bool Companion::next_line(std::string& line, double seconds) {
  const auto take = [&] {
    const std::size_t end = unread_.find('\n');
    if (end == std::string::npos) return false;
    line = unread_.substr(0, end);
    unread_.erase(0, end + 1);
    return true;
  };
  if (take()) return true;
  pollfd readable{output_, POLLIN, 0};
  poll(&readable, 1, static_cast<int>(seconds * 1e3));
  std::array<char, 4096> bytes{};
  const ssize_t got = read(output_, bytes.data(), bytes.size());
  if (got > 0) unread_.append(bytes.data(), static_cast<std::size_t>(got));
  ended_ = ended_ || got == 0;
  return take();
}

void guard_children() {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) std::signal(signal, note_end);
  std::signal(SIGPIPE, SIG_IGN);
}

std::string find_program(const std::string& name, const std::vector<std::string>& folders) {
  if (name.find('/') != std::string::npos) return access(name.c_str(), X_OK) == 0 ? name : "";
  const char* path = std::getenv("PATH");
  std::istringstream list(path == nullptr ? "" : path);
  std::vector<std::string> all;
  for (std::string folder; std::getline(list, folder, ':');) all.push_back(folder);
  all.insert(all.end(), folders.begin(), folders.end());
  for (const std::string& folder : all) {
    std::string candidate = fmt::format("{}/{}", folder.empty() ? "." : folder, name);
    if (access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return "";
}

}  // namespace speedwell::gpu_check
