// SPDX-License-Identifier: BSD-3-Clause
#include <array>

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
};

}  // namespace

void options(std::string_view bytes) {
  if (bytes.empty()) return;
  static const AllOptions all;
  const std::size_t command = static_cast<unsigned char>(bytes[0]) % all.commands.size();
  const std::vector<std::string> words = words_of(bytes.substr(1));
  read_or_refuse([&] {
    const GivenOptions given(all.commands.at(command), words);
    for (const Option& option : all.commands.at(command))
      expect(option.is_flag() || given.has(option.names) == !given.value(option.names).empty(),
             "an option without a value");
    given.store();
  });
}

void command_line(std::string_view bytes) {
  const std::vector<std::string> words = words_of(bytes);
  expect(quoted(words).find('\n') == std::string::npos, "words with an end of line");
  read_or_refuse([&] { parse_arguments(words); });
}

}  // namespace speedwell::fuzz
