// SPDX-License-Identifier: BSD-3-Clause
#include "app/man_page.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "app/examples.hpp"
#include "core/expects.hpp"
#include "revision.hpp"

namespace speedwell {

namespace {

/// Text as roff reads it: hyphens to be copied, and no line that begins as a request does.
std::string roff(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else if ((c == '.' || c == '\'') && (out.empty() || out.back() == '\n'))
      (out += "\\&") += c;
    else
      out += c;
  }
  return out;
}

std::string section(const char* name, const std::string& body) {
  return body.empty() ? "" : fmt::format(".SH {}\n{}\n", name, body);
}

std::string head(const std::string& name, std::string_view help) {
  std::string title = name;
  std::ranges::transform(title, title.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return fmt::format(".TH {} 1 \"\" \"Speedwell {}\" \"Speedwell\"\n.SH NAME\n{} \\- {}\n",
                     roff(title), SPEEDWELL_VERSION, roff(name), roff(help));
}

std::string entry(const std::string& bold, const std::string& rest, const std::string& text) {
  return fmt::format(".TP\n{}{}\n{}\n", bold, rest, text);
}

std::string option_entry(const Option& option) {
  std::string names;
  for (const std::string& name : names_of(option))
    names += fmt::format("{}\\fB{}\\fR", names.empty() ? "" : ", ", roff(name));
  const std::string value =
      option.is_flag() ? "" : fmt::format(" \\fI{}\\fR", roff(option.placeholder));
  std::string text = roff(option.help) + ".";
  // The help of an enumeration has its choices already.
  const std::string choices = option.allowed.substr(0, option.allowed.find(';'));
  if (option.help.find(choices) == option.help.npos && option.allowed != "a file name")
    text += " Allowed: " + roff(option.allowed) + ".";
  return entry(names, value, text);
}

std::string command_page(const CommandWords& command) {
  std::string synopsis = fmt::format(".B speedwell {}\n", command.name);
  std::string arguments;
  for (const Positional& one : command.positionals) {
    const std::string name = fmt::format("\\fI{}\\fR", one.name);
    synopsis += one.required ? name + "\n" : fmt::format("[{}]\n", name);
    arguments += entry(fmt::format("\\fI{}\\fR", one.name), "", roff(one.help) + ".");
  }
  std::string options;
  for (const Option& option : command.options) options += option_entry(option);
  std::string examples_here;
  for (const Example& example : examples)
    if (example.command.find("speedwell " + command.name + " ") != example.command.npos)
      examples_here +=
          entry(roff(example.what), ":", fmt::format("\\fB{}\\fR", roff(example.command)));
  return head("speedwell-" + page_of(command), command.help) +
         section("SYNOPSIS", synopsis + (options.empty() ? "" : "[\\fIOPTIONS\\fR]")) +
         section("ARGUMENTS", arguments) + section("OPTIONS", options) +
         section("ENVIRONMENT AND EXIT STATUS", roff(footer_of(command))) +
         section("EXAMPLES", examples_here) + section("SEE ALSO", ".BR speedwell (1)");
}

std::string overview(const std::vector<CommandWords>& table) {
  std::string commands;
  std::string others;
  for (const CommandWords& one : table) {
    commands += entry(fmt::format("\\fBspeedwell {}\\fR", one.name), "", roff(one.help) + ".");
    others +=
        fmt::format("{}.BR speedwell\\-{} (1)", others.empty() ? "" : ",\n", roff(page_of(one)));
  }
  std::string all;
  for (const Example& example : examples)
    all += entry(roff(example.what), ":", fmt::format("\\fB{}\\fR", roff(example.command)));
  std::string line = tagline;
  std::ranges::replace(line, '\n', ' ');
  return head("speedwell", line) +
         section("SYNOPSIS",
                 ".B speedwell\n\\fICOMMAND\\fR [\\fIOPTIONS\\fR]\n.br\n.B speedwell\n"
                 "[\\fICOMMAND\\fR] \\-\\-help") +
         section("COMMANDS", commands) + section("EXAMPLES", all) + section("SEE ALSO", others);
}

}  // namespace

std::string page_of(const CommandWords& command) {
  std::string page = command.name;
  std::ranges::replace(page, ' ', '-');
  return page;
}

std::string man_page(const std::vector<CommandWords>& table, const std::string& page) {
  if (page.empty()) return overview(table);
  const auto found = std::ranges::find(table, page, page_of);
  SPEEDWELL_EXPECTS(found != table.end());
  return command_page(*found);
}

}  // namespace speedwell
