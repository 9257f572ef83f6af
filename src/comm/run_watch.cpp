// SPDX-License-Identifier: BSD-3-Clause
#include "comm/run_watch.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <sstream>
#include <system_error>
#include <thread>
#include <utility>

#include "core/trace.hpp"

namespace speedwell {

namespace {

constexpr int fault = 3;
constexpr std::chrono::seconds patience{5};  // the time that the hook gets before the end
constexpr std::size_t most_named = 4;
// All ranks find the stall at about the same time. Rank r waits r turns, at most most_turns,
// before it prints, so that most ranks are ended before they print the same again.
constexpr std::chrono::milliseconds turn{20};
constexpr int most_turns = 100;

// Words for the states of proc(5) in which a process cannot answer; null for all other states.
const char* trouble(char state) {
  switch (state) {
    case 'T':
      return "stopped";
    case 't':
      return "stopped by a debugger";
    case 'Z':
      return "dead";
    case 'D':
      return "held by the system (a device or a file)";
    default:
      return nullptr;
  }
}

struct ProcessState {
  char letter = '\0';  ///< of proc(5); 0: not known
  std::int64_t parent = 0;
  std::string program;
};

// The state stands behind the program's name in parentheses, and that name may contain any letters.
ProcessState state_of(std::int64_t process) {
  std::ifstream file(fmt::format("/proc/{}/stat", process));
  std::string text;
  std::getline(file, text);
  const std::size_t name = text.rfind(')');
  ProcessState state;
  if (name == text.npos) return state;
  state.program = text.substr(text.find('(') + 1, name - text.find('(') - 1);
  std::istringstream rest(text.substr(name + 1));
  rest >> state.letter >> state.parent;
  return state;
}

// "; process 12 is stopped" for each process that this one's parent has started, and that cannot
// answer.
std::string siblings_in_trouble() {
  std::string text;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
    const std::string name = entry.path().filename();
    if (!std::ranges::all_of(name, [](unsigned char c) { return std::isdigit(c) != 0; })) continue;
    const ProcessState state = state_of(std::stoll(name));
    if (const char* what = trouble(state.letter); what && state.parent == ::getppid())
      text += fmt::format("; process {} is {}", name, what);
  }
  return text;
}

void complain(const std::string& words) {
  const std::string line = fmt::format("speedwell: {}\n", words);
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, line.data(), line.size());
}

// Ends a process that does not know the other ranks: its launcher ends them then.
[[noreturn]] void end_process(const Stall& stall, const std::string& purpose) {
  std::array<char, HOST_NAME_MAX + 1> host{};
  ::gethostname(host.data(), host.size() - 1);
  complain(fmt::format("process {} on {} has waited {:.3g} s for other ranks {} ({}){}", ::getpid(),
                       host.data(), stall.seconds, purpose, stall.what, siblings_in_trouble()));
  ::_exit(fault);
}

std::string listed(const std::vector<int>& ranks, int rank, const std::vector<RankPlace>& places) {
  std::string text;
  std::size_t others = 0;
  for (const int other : ranks) {
    if (other == rank || ++others > most_named) continue;
    text += fmt::format("{}rank {} on {}", text.empty() ? "" : ", ", other,
                        places.at(static_cast<std::size_t>(other)).host);
  }
  if (others > most_named) text += fmt::format(" and {} more", others - most_named);
  return text;
}

}  // namespace

std::string stall_words(const Stall& stall, int rank, const std::vector<RankPlace>& places,
                        const std::vector<char>& states) {
  std::string text = fmt::format("rank {} on {} has waited {:.3g} s for ", rank,
                                 places.at(static_cast<std::size_t>(rank)).host, stall.seconds);
  const std::string whom = listed(stall.ranks, rank, places);
  text += whom.empty() ? stall.what : whom;
  std::string at;
  if (stall.activity) at = name(*stall.activity);
  if (stall.activity && stall.step >= 0) at += fmt::format(", step {}", stall.step);
  if (!whom.empty()) at += fmt::format("{}{}", at.empty() ? "" : "; ", stall.what);
  if (!at.empty()) text += fmt::format(" ({})", at);
  for (std::size_t other = 0; other < states.size(); ++other)
    if (const char* what = trouble(states[other]))
      text += fmt::format("; rank {} on {} is {} (process {})", other, places[other].host, what,
                          places[other].process);
  return text;
}

RunWatch::RunWatch(CommHandle comm, const Clock& clock, double limit) : limit_(limit) {
  if (limit > 0) {
    watch_ = std::make_unique<StallWatch>(clock, limit, [this](const Stall& stall) { end(stall); });
    watch_->start();
  }
  const StallWatch::Waiting meeting(ranks_in(comm) > 1 ? watch_.get() : nullptr, "MPI_Comm_dup");
  Communicator all = Communicator::duplicate(comm);
  std::vector<RankPlace> places;
  for (const std::string& text : all.all_gather(fmt::format("{} {}", ::getpid(), host_name()))) {
    const std::size_t space = text.find(' ');
    places.push_back({text.substr(space + 1), std::stoll(text)});
  }
  const std::lock_guard lock(mutex_);
  all_.emplace(std::move(all));
  places_ = std::move(places);
}

// Runs on the watch's thread, while the thread that may call MPI waits, perhaps inside MPI. It
// calls MPI_Abort all the same, which only tells the launcher to end all ranks. If that call hangs,
// this process exits by itself, and the launcher ends the other ranks then. The line is written
// here, since no exception can reach the rank's own thread.
void RunWatch::end(const Stall& stall) {
  std::unique_lock met(mutex_);
  if (!all_) end_process(stall, "to begin a run");
  met.unlock();
  if (stall.paused && !is_halted(stall)) return;
  std::this_thread::sleep_for(std::min(all_->rank(), most_turns) * turn);
  const std::string& here = places_[static_cast<std::size_t>(all_->rank())].host;
  std::vector<char> states;
  for (const RankPlace& place : places_)
    states.push_back(place.host == here ? state_of(place.process).letter : '\0');
  complain(stall_words(stall, all_->rank(), places_, states));
  std::thread([] {
    std::this_thread::sleep_for(3 * patience);
    ::_exit(fault);
  }).detach();
  std::promise<void> done;
  const std::future<void> is_done = done.get_future();
  std::thread([this, &done] {
    const std::lock_guard lock(mutex_);
    if (hook_) hook_();
    done.set_value();
  }).detach();
  is_done.wait_for(patience);
  // MPICH's call may abort this process itself, where the rank's own thread is inside MPI.
  std::signal(SIGABRT, [](int) { ::_exit(fault); });
  all_->abort(fault);
}

// Whether a rank of this host has been stopped or dead at every look for half of the limit. In
// another namespace of processes, its number is that of another program.
bool RunWatch::is_halted(const Stall& stall) {
  const RankPlace& mine = places_[static_cast<std::size_t>(all_->rank())];
  const std::string program = state_of(mine.process).program;
  const bool halted = std::ranges::any_of(places_, [&](const RankPlace& place) {
    if (place.host != mine.host) return false;
    const ProcessState state = state_of(place.process);
    return (state.letter == 'T' || state.letter == 'Z') && state.program == program;
  });
  if (!halted)
    halted_.reset();
  else if (!halted_ || *halted_ > stall.seconds)  // or it was in another wait
    halted_ = stall.seconds;
  return halted_ && stall.seconds - *halted_ >= limit_ / 2;
}

void RunWatch::before_end(std::function<void()> hook) {
  const std::lock_guard lock(mutex_);
  hook_ = std::move(hook);
}

ProcessWatch::ProcessWatch(double limit, const std::string& purpose, const char* call) {
  if (!(limit > 0)) return;
  watch_ = std::make_unique<StallWatch>(
      clock_, limit, [purpose](const Stall& stall) { end_process(stall, purpose); });
  watch_->start();
  waiting_.emplace(watch_.get(), call);
}

}  // namespace speedwell
