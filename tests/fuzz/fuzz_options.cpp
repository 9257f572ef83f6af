// SPDX-License-Identifier: BSD-3-Clause
#include <array>
#include <map>

#include "app/arguments.hpp"
#include "app/command_options.hpp"
#include "app/option.hpp"
#include "fuzz.hpp"

namespace speedwell::fuzz {

namespace {

/// The options of all commands, and where their values go.
struct AllOptions {
  Arguments arguments;
  std::array<Options, 8> commands{mxp_options(arguments),     hpl_options(arguments),
                                  bench_options(arguments),   compare_options(arguments),
                                  tune_options(arguments),    solve_options(arguments),
                                  predict_options(arguments), calibrate_options(arguments)};
  std::array<std::map<std::string, const Option*>, 8> by_name;

  AllOptions() {
    for (std::size_t i = 0; i < commands.size(); ++i)
      for (const Option& option : commands.at(i))
        for (const std::string& name : CLI::detail::split(option.names, ','))
          by_name.at(i)[name] = &option;
  }
};

}  // namespace

void options(std::string_view bytes) {
  if (bytes.empty()) return;
  static const AllOptions all;
  const std::size_t command = static_cast<unsigned char>(bytes[0]) % all.commands.size();
  const std::vector<std::string> words = words_of(bytes.substr(1));
  read_or_refuse([&] {
    Normalizer normalizer(all.commands.at(command));
    for (const std::string& word : normalizer(words)) {
      const std::size_t end = std::min(word.find('='), word.size());
      const auto found = all.by_name.at(command).find(word.substr(0, end));
      if (found == all.by_name.at(command).end()) continue;
      expect(end + 1 < word.size() && normalizer.given(found->second->names), "no value");
      found->second->set(word.substr(end + 1));
    }
  });
}

void command_line(std::string_view bytes) {
  const std::vector<std::string> words = words_of(bytes);
  expect(quoted(words).find('\n') == std::string::npos, "words with an end of line");
  read_or_refuse([&] { parse_arguments(words); });
}

}  // namespace speedwell::fuzz
