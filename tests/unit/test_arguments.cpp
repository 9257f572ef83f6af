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
  CHECK(suggestion("frobnicate", words) == ";");
  CHECK(suggestion("--z", words) == ";");  // a third of one letter
  CHECK(suggestion("", words) == ";");
  CHECK(suggestion(std::string(100000, 'x'), words) == ";");
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

TEST_CASE("the man page names every option") {
  Arguments arguments;
  const std::vector<CommandWords> table = command_table(arguments);
  const std::string page = man_page(table);
  for (const CommandWords& one : table) {
    CHECK(page.find("speedwell " + one.name) != std::string::npos);
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
