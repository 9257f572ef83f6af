// SPDX-License-Identifier: BSD-3-Clause
// The table of commands and options, and what is made of it.
#include <set>
#include <sstream>

#include "app/arguments.hpp"
#include "app/command_table.hpp"
#include "app/environment_check.hpp"
#include "app/examples.hpp"
#include "app/man_page.hpp"
#include "app/suggestion.hpp"
#include "catch.hpp"
#include "io/settings.hpp"

namespace speedwell {
namespace {

/// The words behind `speedwell` of a command line without quotes.
std::vector<std::string> words_of(std::string_view line) {
  std::istringstream in{std::string(line)};
  std::vector<std::string> words;
  bool is_speedwell = false;
  for (std::string word; in >> word;) {
    if (is_speedwell) words.push_back(word);
    is_speedwell |= word == "speedwell";
  }
  return words;
}

TEST_CASE("every example is a command line that is understood") {
  std::set<std::string> shown;
  for (const Example& example : examples) {
    CAPTURE(example.command);
    const std::vector<std::string> words = words_of(example.command);
    REQUIRE_FALSE(words.empty());
    CHECK(parse_arguments(words).command != Command::print);
    shown.insert(words[0] == "predict" && words[1][0] != '-' ? words[0] + ' ' + words[1]
                                                             : words[0]);
    CHECK(examples_text().find(example.command) != std::string::npos);
  }
  Arguments arguments;
  for (const CommandWords& one : command_table(arguments))
    if (one.command != Command::print && one.name != "predict bench")
      CHECK(shown.contains(one.name));
}

TEST_CASE("words behind two dashes are no options") {
  const Arguments files = parse_arguments({"solve", "A.npy", "--strict", "--", "-b.npy"});
  CHECK(files.solve.a == "A.npy");
  CHECK(files.solve.b == "-b.npy");
  CHECK(files.solve.options.strict);
  CHECK(parse_arguments({"solve", "--", "--help", "-V"}).solve.b == "-V");
  CHECK(parse_arguments({"verify", "--", "--"}).submission == "--");
  CHECK(parse_arguments({"mxp", "--seed", "7", "--"}).options.seed == 7);
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"mxp", "--", "--seed"}, {"solve", "A", "b", "--", "c"}, {"solve", "A", "--", ""}})
    CHECK_THROWS_AS(parse_arguments(words), UsageError);
}

TEST_CASE("the file of info's JSON may be left out") {
  CHECK(parse_arguments({"info"}).json.empty());
  CHECK(parse_arguments({"info", "--json"}).json == "-");
  CHECK(parse_arguments({"info", "--json", "-"}).json == "-");
  CHECK(parse_arguments({"info", "--json", "facts.json"}).json == "facts.json");
  CHECK_THROWS_AS(parse_arguments({"info", "--json", "--json"}), UsageError);
}

TEST_CASE("distances of words") {
  CHECK(distance("", "") == 0);
  CHECK(distance("abc", "") == 3);
  CHECK(distance("", "ab") == 2);
  CHECK(distance("kitten", "sitting") == 3);
  CHECK(distance("hlp", "hpl") == 1);  // neighbours exchanged
  CHECK(distance("ca", "abc") == 3);   // no part is changed twice
}

TEST_CASE("the nearest word is suggested where one is near") {
  const std::vector<std::string> words{"mxp", "hpl", "solve", "--lookahead", "--n"};
  CHECK(suggestion("sovle", words) == "; did you mean 'solve'?");
  CHECK(suggestion("hlp", words) == "; did you mean 'hpl'?");
  CHECK(suggestion("--look-ahead", words) == "; did you mean '--lookahead'?");
  CHECK(suggestion("--look", words) == "; did you mean '--lookahead'?");
  CHECK(suggestion("frobnicate", words).empty());
  CHECK(suggestion("--z", words).empty());  // a third of one letter
  CHECK(suggestion("", words).empty());
  CHECK(suggestion(std::string(100000, 'x'), words).empty());
}

/// The refusal of these settings, for `speedwell mxp` with these words.
std::string refusal_of(const std::string& settings, std::vector<std::string> words = {}) {
  words.insert(words.begin(), {"mxp", "--settings", "s.json"});
  try {
    parse_arguments(words, &settings);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST_CASE("settings are options that are not given") {
  const Settings settings{"mxp",
                          {{"n", "100,200"},
                           {"matrix", "fasi-higham"},
                           {"kappa", "12.5"},
                           {"seed", "18446744073709551615"},
                           {"repeat", "3"}}};
  const std::string text = settings_text(settings);
  CHECK(parse_settings(text, "s.json").options == settings.options);
  CHECK(text.find("[\n      100,\n      200\n    ]") != std::string::npos);
  const std::vector<std::string> words{"mxp", "--settings", "s.json", "--repeat", "5"};
  const Arguments read = parse_arguments(words, &text);
  CHECK(read.choices.n == std::vector<std::int64_t>{100, 200});
  CHECK(read.options.kappa == 12.5);
  CHECK(read.options.seed == 18446744073709551615u);
  CHECK(read.repeat == 5);
  CHECK_FALSE(read.may_take_dat);
  // What is given may need what the file has: only both together are checked.
  const std::vector<std::string> rho{"mxp", "--settings", "s.json", "--rho", "0.25"};
  CHECK(parse_arguments(rho).settings == "s.json");
  CHECK(parse_arguments(rho, &text).options.rho == 0.25);
}

TEST_CASE("settings that are refused name the key") {
  const auto with = [](const std::string& options) {
    return R"({"schema": "speedwell-settings/1", "command": "mxp", "options": {)" + options + "}}";
  };
  CHECK(refusal_of(with("")).empty());
  CHECK(refusal_of(with(R"("progress": true)")).empty());
  for (const auto& [text, words] : std::vector<std::pair<std::string, std::string>>{
           {"", "no JSON object"},
           {"[1]", "no JSON object"},
           {"{}", "'schema' is missing"},
           {R"({"schema": "speedwell-settings/2", "command": "mxp", "options": {}})",
            "schema is 'speedwell-settings/2'; allowed: 'speedwell-settings/1'"},
           {R"({"schema": "speedwell-settings/1", "command": "hpl", "options": {}})",
            "command is 'hpl'; allowed: 'mxp'"},
           {R"({"schema": "speedwell-settings/1", "command": "mxp"})", "'options' is missing"},
           {R"({"schema": "speedwell-settings/1", "command": "mxp", "options": {}, "x": 1})",
            "unknown key 'x'"},
           {with(R"("look_ahead": 1)"), "unknown key 'look_ahead'; did you mean '--lookahead'?"},
           {with(R"("settings": "t.json")"), "unknown key 'settings'"},
           {with(R"("n": 0)"), "'0' is not allowed"},
           {with(R"("n": 300, "nb": 32, "n": 300)"), "key 'n' given more than once"},
           {R"({"schema": "speedwell-settings/1", "options": {}, "command": "mxp", "options": {}})",
            "key 'options' given more than once"},
           {with(R"("n": null)"), "'n' is null"},
           {with(R"("n": [])"), "'n' is []"},
           {with(R"("n": [[1]])"), "'n' is [[1]]"},
           {with(R"("progress": 1)"), "'progress' is 1; allowed: true"},
           {with(R"("kappa": 10)"), "--kappa: allowed only with --matrix fasi-higham"}}) {
    CAPTURE(text);
    CHECK(refusal_of(text).find(words) != std::string::npos);
    CHECK(refusal_of(text).find('\n') == std::string::npos);
  }
}

TEST_CASE("the ranks' environments are compared") {
  const auto rank = [](std::string host, std::map<std::string, std::string> values) {
    return RankEnvironment{std::move(host), std::move(values)};
  };
  CHECK(differences({rank("a", {{"OMP_PLACES", "cores"}}), rank("b", {{"OMP_PLACES", "cores"}})})
            .empty());
  CHECK(differences({rank("a", {{"BLAS", "1"}}), rank("b", {{"BLAS", "2"}}), rank("c", {})}) ==
        std::vector<std::string>{
            "rank 1 on b: BLAS is '2', but '1' on rank 0 on a; 1 more ranks differ"});
  CHECK(differences({rank("a", {}), rank("b", {{"NCCL_DEBUG", "x"}})}) ==
        std::vector<std::string>{"rank 1 on b: NCCL_DEBUG is 'x', but not there on rank 0 on a"});
  const char* const gpus = "CUDA_VISIBLE_DEVICES";
  CHECK(differences({rank("a", {{gpus, "0"}}), rank("a", {{gpus, "1"}}), rank("b", {{gpus, "0"}})})
            .empty());
  CHECK(differences({rank("a", {{gpus, "0"}}), rank("b", {{gpus, "1"}})}).size() == 1);
  const char* const variables[]{"OMP_A=1=2", "HOME=/", "CUBLAS_B", "OMPI_C=3", nullptr};
  const auto here = environment_here("a", variables).values;
  CHECK(here.at("OMP_A") == "1=2");
  CHECK(here.at("CUBLAS_B").empty());
  CHECK_FALSE(here.contains("HOME"));
  CHECK_FALSE(here.contains("OMPI_C"));
  CHECK(here.contains("the version of MPI"));
}

TEST_CASE("man pages name every option") {
  Arguments arguments;
  const std::vector<CommandWords> table = command_table(arguments);
  for (const CommandWords& one : table) {
    CHECK(man_page(table, "").find("speedwell " + one.name) != std::string::npos);
    const std::string page = man_page(table, page_of(one));
    for (const Option& option : one.options)
      for (std::string name : names_of(option)) {
        for (std::size_t at = 0; (at = name.find('-', at)) != name.npos; at += 2)
          name.insert(at, "\\");
        CHECK(page.find("\\fB" + name + "\\fR") != std::string::npos);
      }
  }
}

}  // namespace
}  // namespace speedwell
