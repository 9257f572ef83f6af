// SPDX-License-Identifier: BSD-3-Clause
#include "app/completion.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace speedwell {

namespace {

using Table = std::vector<CommandWords>;

bool names_file(const Option& option) {
  return option.placeholder.find("FILE") != option.placeholder.npos;
}

/// The commands behind these words: those of speedwell, or of "predict ".
std::vector<const CommandWords*> commands_behind(const Table& table, const std::string& words) {
  std::vector<const CommandWords*> all;
  for (const CommandWords& one : table)
    if (one.name == words + one.word()) all.push_back(&one);
  return all;
}

std::string words_of(const std::vector<const CommandWords*>& commands) {
  std::vector<std::string> words;
  words.reserve(commands.size());
  for (const CommandWords* one : commands) words.push_back(one->word());
  return fmt::format("{}", fmt::join(words, " "));
}

/// Cases of the last word before the cursor, for one command: "--device) words='auto cpu cuda' ;;".
std::string bash_values(const CommandWords& command) {
  std::string text;
  for (const Option& option : command.options) {
    if (option.is_flag()) continue;
    const std::vector<std::string> choices = choices_of(option);
    const char* const kind = names_file(option) ? "files" : choices.empty() ? "none" : "words";
    text += fmt::format("        {}) kind={} words='{}' ;;\n", fmt::join(names_of(option), " | "),
                        kind, fmt::join(choices, " "));
  }
  return text;
}

/// What may stand at the place of an option: the options, and the words or files of arguments.
std::string bash_command(const Table& table, const CommandWords& command) {
  std::vector<std::string> words{"--help"};
  for (const Option& option : command.options)
    for (std::string& name : names_of(option)) words.push_back(std::move(name));
  bool files = false;
  for (const Positional& one : command.positionals) {
    files |= one.choices.empty();
    words.insert(words.end(), one.choices.begin(), one.choices.end());
  }
  if (command.name == "predict")
    for (const CommandWords* one : commands_behind(table, "predict ")) words.push_back(one->word());
  return fmt::format(
      "    '{}')\n      kind={} words='{}'\n      case $previous in\n{}      *) ;;\n      esac\n"
      "      ;;\n",
      command.name, files ? "both" : "words", fmt::join(words, " "), bash_values(command));
}

constexpr const char* bash_head =
    R"(# bash completion for speedwell; made by `speedwell completion bash`.
_speedwell() {
  local current=$2 previous=$3 kind=words words='' command='' i
  # "--option=value" is three words here.
  if [ "$current" = = ]; then
    current=''
  elif [ "$previous" = = ]; then
    previous=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  for ((i = 1; i < COMP_CWORD && i < 3; ++i)); do
    case $command${COMP_WORDS[i]} in
)";
constexpr const char* bash_tail = R"(  *) words='--help --version' ;;
  esac
  [ -n "$command" ] || words="$commands --help --version"
  COMPREPLY=()
  if [ "$kind" != none ]; then
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
  fi
  case $kind in
    both | files)
      [ "$kind" = files ] || [[ $current != -* ]] || return 0
      compopt -o filenames 2>/dev/null
      mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -f -- "$current")
      ;;
  esac
}
complete -F _speedwell speedwell
)";

std::string bash_script(const Table& table) {
  std::string text = bash_head;
  text +=
      fmt::format("      {}) command=${{COMP_WORDS[i]}} ;;\n",
                  fmt::join(CLI::detail::split(words_of(commands_behind(table, "")), ' '), " | "));
  for (const CommandWords* one : commands_behind(table, "predict "))
    text += fmt::format("      predict{}) command='{}' ;;\n", one->word(), one->name);
  text += "    esac\n  done\n";
  text += fmt::format("  local commands='{}'\n  case $command in\n",
                      words_of(commands_behind(table, "")));
  for (const CommandWords& one : table) text += bash_command(table, one);
  return text + bash_tail;
}

/// The text between single quotes of an _arguments spec.
std::string zsh_quoted(const std::string& text) {
  std::string quoted;
  for (const char c : text) {
    if (c == '\'')
      quoted += "'\\''";
    else if (c == '[' || c == ']' || c == ':' || c == '\\')
      (quoted += '\\') += c;
    else
      quoted += c;
  }
  return quoted;
}

std::string zsh_action(const std::vector<std::string>& choices, bool is_file) {
  if (is_file) return "_files";
  return choices.empty() ? " " : fmt::format("({})", fmt::join(choices, " "));
}

/// The options of a command as arguments of _arguments.
std::string zsh_specs(const CommandWords& command) {
  std::string text = "      '--help[Print the help]'";
  for (const Option& option : command.options)
    for (const std::string& name : names_of(option)) {
      const std::string help = zsh_quoted(option.help);
      text += " \\\n      ";
      if (option.is_flag())
        text += fmt::format("'{}[{}]'", name, help);
      else
        text += fmt::format("'{}{}[{}]:{}:{}'", name, name.starts_with("--") ? "=" : "+", help,
                            zsh_quoted(option.placeholder),
                            zsh_action(choices_of(option), names_file(option)));
    }
  for (const Positional& one : command.positionals)
    text +=
        fmt::format(" \\\n      ':{}:{}'", one.name, zsh_action(one.choices, one.choices.empty()));
  return text;
}

std::string zsh_described(const std::vector<const CommandWords*>& commands) {
  std::string text;
  for (const CommandWords* one : commands)
    text += fmt::format("    '{}:{}'\n", one->word(), zsh_quoted(one->help));
  return text;
}

std::string zsh_cases(const std::vector<const CommandWords*>& commands) {
  std::string text;
  for (const CommandWords* one : commands)
    if (one->name == "predict")
      text += "    predict) _speedwell_predict ;;\n";
    else
      text += fmt::format("    {}) _arguments \\\n{} ;;\n", one->word(), zsh_specs(*one));
  return text;
}

/// A function that completes the commands behind `words`, and what stands behind them.
std::string zsh_function(const std::string& name, const std::string& options,
                         const std::vector<const CommandWords*>& commands) {
  return fmt::format(
      "{}() {{\n  local context state state_descr line\n  typeset -A opt_args\n"
      "  local -a commands\n  commands=(\n{}  )\n"
      "  _arguments -C \\\n{} \\\n      '1: :->command' '*:: :->behind'\n"
      "  case $state in\n  command) _describe -t commands 'command' commands ;;\n"
      "  behind)\n    case $words[1] in\n{}    esac ;;\n  esac\n}}\n\n",
      name, zsh_described(commands), options, zsh_cases(commands));
}

std::string zsh_script(const Table& table) {
  std::string text =
      "#compdef speedwell\n# zsh completion for speedwell; made by `speedwell completion zsh`.\n\n";
  for (const CommandWords& one : table)
    if (one.name == "predict")
      text +=
          zsh_function("_speedwell_predict", zsh_specs(one), commands_behind(table, "predict "));
  text +=
      zsh_function("_speedwell", "      '--help[Print the help]' '--version[Print the version]'",
                   commands_behind(table, ""));
  // As a file of fpath it is the function's body; sourced, it registers the function.
  return text +
         "if [ \"$funcstack[1]\" = _speedwell ]; then _speedwell \"$@\"; else compdef _speedwell "
         "speedwell; "
         "fi\n";
}

}  // namespace

std::string completion(const Table& table, const std::string& shell) {
  return shell == "bash" ? bash_script(table) : zsh_script(table);
}

}  // namespace speedwell
