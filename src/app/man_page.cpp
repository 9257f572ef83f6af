// SPDX-License-Identifier: BSD-3-Clause
#include "app/man_page.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "app/examples.hpp"
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

std::string command_text(const CommandWords& command) {
  std::string entries;
  for (const Positional& one : command.positionals)
    entries += entry(fmt::format("\\fI{}\\fR", one.name), "", roff(one.help) + ".");
  for (const Option& option : command.options) entries += option_entry(option);
  return fmt::format(".SS \"{}\"\n{}.\n{}", roff(usage_of(command)), roff(command.help), entries);
}

}  // namespace

std::string man_page(const std::vector<CommandWords>& table) {
  std::string line = tagline;
  std::ranges::replace(line, '\n', ' ');
  std::string text = fmt::format(
      ".TH SPEEDWELL 1 \"\" \"Speedwell {}\" \"Speedwell\"\n.SH NAME\nspeedwell \\- {}\n"
      ".SH SYNOPSIS\n.B speedwell\n\\fICOMMAND\\fR [\\fIOPTIONS\\fR]\n.br\n.B speedwell\n"
      "[\\fICOMMAND\\fR] \\-\\-help\n.SH COMMANDS\n",
      SPEEDWELL_VERSION, roff(line));
  for (const CommandWords& one : table) text += command_text(one);
  text += ".SH ENVIRONMENT AND EXIT STATUS\n" + roff(footer_of(table.front())) + "\n.SH EXAMPLES\n";
  for (const Example& example : examples)
    text += entry(roff(example.what), ":", fmt::format("\\fB{}\\fR", roff(example.command)));
  return text;
}

}  // namespace speedwell
