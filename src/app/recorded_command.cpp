// SPDX-License-Identifier: BSD-3-Clause
#include "app/recorded_command.hpp"

#include <fmt/format.h>
#include <speedwell/error.hpp>

#include <nlohmann/json.hpp>
#include <vector>

#include "app/arguments.hpp"
#include "bench/campaign.hpp"
#include "document/option_json.hpp"
#include "io/text.hpp"
#include "report/json_fields.hpp"

namespace speedwell {

namespace {

using nlohmann::ordered_json;

/// What differs between options of the command line and those that were asked for.
std::string differing_options(const BenchmarkOptions& given, const ordered_json& run,
                              const char* benchmark) {
  const ordered_json mine = json_of_asked(given);
  const ordered_json& asked = at(run, {"asked"});
  for (const auto& [key, value] : mine.items()) {
    const ordered_json& recorded = at(asked, {key.c_str()});
    const bool by_environment = key == "threads" && value.is_null();  // OMP_NUM_THREADS
    if (recorded == value || by_environment || key == "benchmark") continue;
    return fmt::format("{} is {} there, but {} records {}", key, value.dump(), benchmark,
                       printable(recorded.dump()));
  }
  for (const char* key : {"n", "nb", "nprow", "npcol"})
    if (!asked[key].is_null() && asked[key] != at(run, {key}))
      return fmt::format("{} asked for {} {}, but {} was run", benchmark, key,
                         printable(asked[key].dump()), printable(run[key].dump()));
  return "";
}

}  // namespace

std::vector<std::string> words_of_line(const std::string& line) {
  std::vector<std::string> words(1);
  bool is_quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (static_cast<unsigned char>(line[i]) < ' ') return {};
    if (line[i] == '\'')
      is_quoted = !is_quoted;
    else if (line[i] == ' ' && !is_quoted)
      words.emplace_back();
    else if (line[i] == '\\' && !is_quoted && ++i == line.size())
      return {};
    else
      words.back() += line[i];
  }
  return quoted(words) == line ? words : std::vector<std::string>{};
}

std::string wrong_command_line(const ordered_json& document) {
  const ordered_json& line = at(document, {"command_line"});
  const std::vector<std::string> words =
      words_of_line(line.is_string() ? line.get<std::string>() : "");
  if (words.empty())
    return fmt::format("{} is not one command, with quotes as the report has them",
                       printable(line.dump(), 120));
  try {
    const Arguments given = parse_arguments({words.begin() + 1, words.end()});
    if (given.command != Command::bench || given.predict.on) return "it is no 'speedwell bench'";
    BenchmarkOptions mxp = given.options;
    mxp.time_target /= 2;  // for each of both
    const ordered_json& runs = at(document, {"mxp", "runs"});
    if (static_cast<int>(runs.size()) != given.repeat)
      return fmt::format("it asks for {} runs, but there are {}", given.repeat, runs.size());
    const std::string why = differing_options(mxp, at(document, {"mxp"}), "mxp");
    return !why.empty() ? why
                        : differing_options(hpl_beside(mxp, given.hpl_n, given.hpl_nb),
                                            at(document, {"hpl"}), "hpl");
  } catch (const UsageError& error) {
    return fmt::format("the command does not take it: {}", error.what());
  }
}

}  // namespace speedwell
