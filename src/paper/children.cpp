// SPDX-License-Identifier: BSD-3-Clause
#include "paper/children.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <speedwell/error.hpp>
#include <string_view>

#include "core/expects.hpp"

namespace speedwell::paper {

namespace {

using Work = std::function<void(std::size_t, const Reply&)>;

// The first byte that a child sends says what follows.
constexpr char reply_mark = 'r';
constexpr char failure_mark = 'f';

[[noreturn]] void send(int pipe, char mark, std::string_view text) {
  std::string message = mark + std::string(text);
  for (std::string_view rest = message; !rest.empty();) {
    const ssize_t written = ::write(pipe, rest.data(), rest.size());
    if (written < 0 && errno != EINTR) break;
    if (written > 0) rest.remove_prefix(static_cast<std::size_t>(written));
  }
  std::_Exit(0);  // without what the parent would do at its end
}

[[noreturn]] void be_child(pid_t parent, int pipe, std::size_t i, const Work& work) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) std::_Exit(0);  // it ended before
  try {
    work(i, [pipe](const std::string& text) { send(pipe, reply_mark, text); });
  } catch (const std::exception& error) {
    send(pipe, failure_mark, error.what());
  }
  send(pipe, failure_mark, "it ended without a result");
}

/// A running child. The destructor kills it.
class Child {
 public:
  Child(std::size_t number, const Work& work) : number_(number) {
    std::array<int, 2> ends{};
    if (::pipe(ends.data()) != 0)
      throw Fault(fmt::format("no pipe to a simulation: {}", std::strerror(errno)));
    const pid_t parent = ::getpid();
    process_ = ::fork();
    if (process_ == 0) {
      ::close(ends[0]);
      be_child(parent, ends[1], number, work);
    }
    const int error = errno;
    ::close(ends[1]);
    pipe_ = ends[0];
    if (process_ > 0) return;
    ::close(pipe_);
    throw Fault(fmt::format("a simulation cannot be started: {}", std::strerror(error)));
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  Child(Child&& other) noexcept
      : number_(other.number_),
        process_(std::exchange(other.process_, -1)),
        pipe_(other.pipe_),
        text_(std::move(other.text_)) {}
  Child& operator=(Child&&) = delete;
  ~Child() {
    if (process_ < 0) return;
    ::kill(process_, SIGKILL);
    finish();
  }

  std::size_t number() const { return number_; }
  int pipe() const { return pipe_; }

  /// Takes what the child has sent. Returns false at the end of it.
  bool take() {
    std::array<char, 65536> part{};
    const ssize_t length = ::read(pipe_, part.data(), part.size());
    if (length > 0) text_.append(part.data(), static_cast<std::size_t>(length));
    return length > 0 || (length < 0 && errno == EINTR);
  }

  /// What became of the child. @pre take() has returned false
  ChildEnd end() {
    const int status = finish();
    if (WIFSIGNALED(status))
      return {"", fmt::format("signal {} ended it ({})", WTERMSIG(status),
                              ::strsignal(WTERMSIG(status)))};
    if (text_.empty()) return {"", fmt::format("it ended with status {}", WEXITSTATUS(status))};
    std::string text = text_.substr(1);
    return text_.front() == reply_mark ? ChildEnd{std::move(text), ""}
                                       : ChildEnd{"", std::move(text)};
  }

 private:
  int finish() {
    int status = 0;
    while (::waitpid(process_, &status, 0) < 0 && errno == EINTR) {
    }
    ::close(pipe_);
    process_ = -1;
    return status;
  }

  std::size_t number_;
  pid_t process_ = -1;
  int pipe_ = -1;
  std::string text_;
};

/// Waits until children have sent something, takes it, and keeps the ends of those that have ended.
void listen(std::vector<Child>& children, std::vector<ChildEnd>& ends) {
  std::vector<pollfd> pipes;
  pipes.reserve(children.size());
  for (const Child& child : children) pipes.push_back({child.pipe(), POLLIN, 0});
  if (::poll(pipes.data(), pipes.size(), -1) < 0) return;  // a signal came
  std::vector<Child> running;
  for (std::size_t i = 0; i < children.size(); ++i) {
    Child& child = children[i];
    if (pipes[i].revents == 0 || child.take())
      running.push_back(std::move(child));
    else
      ends[child.number()] = child.end();
  }
  children.swap(running);
}

}  // namespace

std::vector<ChildEnd> run_children(const std::vector<std::size_t>& order, int processes,
                                   const Work& work) {
  SPEEDWELL_EXPECTS(processes >= 1);
  std::vector<ChildEnd> ends(order.size());
  std::vector<Child> children;
  for (std::size_t next = 0; next < order.size() || !children.empty();) {
    if (next < order.size() && children.size() < static_cast<std::size_t>(processes))
      children.emplace_back(order[next++], work);
    else
      listen(children, ends);
  }
  return ends;
}

}  // namespace speedwell::paper
