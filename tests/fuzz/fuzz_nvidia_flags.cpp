// SPDX-License-Identifier: BSD-3-Clause
/// run/hpl-mxp.sh is a script, so each input is a process of bash, in which nvidia_flags.sh has
/// taken the place of the commands: none is started. Coverage is seen in what the script prints.
#include <spawn.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <functional>

#include "app/arguments.hpp"
#include "fuzz.hpp"
#include "io/text.hpp"
#include "memory_file.hpp"

namespace speedwell::fuzz {

namespace {

/// libFuzzer takes a counter that is set for the first time as a part of the code that is reached
/// for the first time.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): libFuzzer reads it
[[gnu::section("__libfuzzer_extra_counters"), gnu::used]] std::array<unsigned char, 1024> counters;

void note(std::string_view word) {
  counters[std::hash<std::string_view>{}(word) % 1024] = 1;
}

/// Notes the words of a message, but not those that it quotes from the input.
void note_words(std::string_view message) {
  for (std::string_view rest = message; !rest.empty();) {
    const std::string_view word = take_word(rest);
    if (word.empty()) break;
    if (word.find('\'') == word.npos) note(word);
  }
}

struct Outcome {
  int status = 0;
  std::string output;
  std::string errors;
};

Outcome run(std::vector<std::string> words) {
  const MemoryFile output("");
  const MemoryFile errors("");
  words.insert(words.begin(), {"bash", SPEEDWELL_HPL_MXP});
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  std::string place = "BASH_ENV=" SPEEDWELL_FUZZ_FOLDER "/nvidia_flags.sh";
  std::string path = "PATH=/nonexistent";
  std::array<char*, 3> environment{place.data(), path.data(), nullptr};
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", 0, 0);
  ::posix_spawn_file_actions_adddup2(&actions, output.descriptor(), 1);
  ::posix_spawn_file_actions_adddup2(&actions, errors.descriptor(), 2);
  pid_t child = 0;
  const int error =
      ::posix_spawn(&child, "/bin/bash", &actions, nullptr, arguments.data(), environment.data());
  ::posix_spawn_file_actions_destroy(&actions);
  Outcome outcome;
  expect(error == 0, "bash does not start");
  while (::waitpid(child, &outcome.status, 0) != child) expect(errno == EINTR, "bash is lost");
  outcome.output = output.content();
  outcome.errors = errors.content();
  return outcome;
}

/// Lines of the script's own, each with its end.
bool are_messages(std::string_view lines, int most) {
  for (; !lines.empty(); lines.remove_prefix(lines.find('\n') + 1))
    if (!lines.starts_with("hpl-mxp.sh: ") || lines.find('\n') == lines.npos || most-- == 0)
      return false;
  return true;
}

}  // namespace

void nvidia_flags(std::string_view bytes) {
  const Outcome outcome = run(words_of(bytes));
  const bool refused = WIFEXITED(outcome.status) && WEXITSTATUS(outcome.status) == 2;
  expect(outcome.status == 0 || refused, "neither started nor refused: " + outcome.errors);
  expect(are_messages(outcome.errors, 1), "not one line of the script: " + outcome.errors);
  expect(!refused || (outcome.output.empty() && !outcome.errors.empty()), "refused in silence");
  note_words(outcome.errors);
  if (refused || outcome.output.starts_with("usage:")) return;
  const std::vector<std::string> started = words_of(outcome.output);
  for (const std::string& word : started)
    if (word.starts_with("--")) note(word);
  const auto command = std::find(started.begin(), started.end(), "mxp");
  expect(command != started.end(), "speedwell mxp is not started: " + outcome.output);
  read_or_refuse([&] { parse_arguments({command, started.end()}); });
}

}  // namespace speedwell::fuzz
