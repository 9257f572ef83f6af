// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Options of the command line: how each is read, and which values it allows.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <speedwell/error.hpp>
#include <speedwell/options.hpp>

#include "core/option_range.hpp"
#include "io/text.hpp"

namespace speedwell {

/// @throws UsageError that names the option, the value and the allowed values
[[noreturn]] void reject(const std::string& option, std::string_view value,
                         const std::string& allowed);

/// The words of "a,b"; an empty one where there is nothing before or behind a comma.
std::vector<std::string> words_between_commas(const std::string& text);

/// One option.
struct Option {
  std::string names;        ///< separated by commas: "-N,--n"
  std::string placeholder;  ///< of the value in the help: "NUMBER"; empty: it takes no value
  std::string help;
  std::string allowed;  ///< allowed values, for messages
  /// Reads the value and stores it. @throws UsageError if it is not allowed
  std::function<void(const std::string& value)> set;
  std::string usual{};  ///< the value where none follows; empty: there must be a value
  std::string once{};   ///< all names of which one may be given; empty: `names`

  bool is_flag() const { return placeholder.empty(); }
};

/// An option that takes no value. @param once as Option::once
Option flag(std::string names, std::string help, std::function<void()> set, std::string once = "");

/// The names of an option: "-N", "--n".
std::vector<std::string> names_of(const Option& option);

/// The row of an option in the table of ranges. @param names as in Option::names
const OptionRange& range_of_names(const std::string& names);

/// A number in the range that the table has.
template <class Number>
Option number(std::string names, std::string help, Number& target) {
  const OptionRange& range = range_of_names(names);
  Option option{std::move(names), "NUMBER", std::move(help), range_text<Number>(range), {}};
  option.set = [&range, &target, name = option.names,
                allowed = option.allowed](const std::string& text) {
    const auto value = number<Number>(text);
    if (!value || !is_in(range, *value)) reject(name, text, allowed);
    target = *value;
  };
  return option;
}

/// The enumeration's value with this name (or alias), if its name is in the list `allowed`.
template <class Enum>
std::optional<Enum> read_name(std::string_view text, const std::string& allowed) {
  const auto value = parse<Enum>(text);
  if (!value) return std::nullopt;
  const bool is_known =
      (", " + allowed + ",").find(fmt::format(", {},", name(*value))) != std::string::npos;
  return is_known ? value : std::nullopt;
}

/// The name of a value of the enumeration.
template <class Enum>
Option choice(std::string names, std::string help, Enum& target,
              const std::string& allowed = allowed_names<Enum>()) {
  Option option{std::move(names), "NAME", std::move(help) + ": " + allowed, allowed, {}};
  option.set = [&target, allowed, name = option.names](const std::string& text) {
    const auto value = read_name<Enum>(text, allowed);
    if (!value) reject(name, text, allowed);
    target = *value;
  };
  return option;
}

/// One or several values, separated by commas. `read_one` reads each of them.
template <class T, class Read>
Option list(std::string names, std::string help, std::string allowed, std::vector<T>& target,
            const Read& read_one) {
  Option option{std::move(names), "LIST", std::move(help), std::move(allowed), {}};
  option.set = [&target, read_one, name = option.names,
                range = option.allowed](const std::string& text) {
    target.clear();
    for (const std::string& word : words_between_commas(text)) {
      const std::optional<T> value = read_one(word);
      if (!value) reject(name, text, range);
      target.push_back(*value);
    }
  };
  return option;
}

/// One or several numbers in the range that the table has.
template <class Number>
Option number(std::string names, std::string help, std::vector<Number>& target) {
  const OptionRange& range = range_of_names(names);
  return list(std::move(names), std::move(help),
              range_text<Number>(range) + ", or several, separated by commas", target,
              [&range](const std::string& word) {
                const auto value = number<Number>(word);
                return value && is_in(range, *value) ? value : std::nullopt;
              });
}

/// The names of one or several values of the enumeration.
template <class Enum>
Option choice(std::string names, std::string help, std::vector<Enum>& target) {
  const std::string allowed = allowed_names<Enum>();
  return list(std::move(names), std::move(help) + ": " + allowed,
              allowed + "; or several, separated by commas", target,
              [](const std::string& word) { return parse<Enum>(word); });
}

Option on_off(std::string names, std::string help, bool& target);

Option file(std::string names, std::string help, std::string& target);

using Options = std::vector<Option>;

void append(Options& all, Options more);

/// The words behind a command, read by its options. A value may begin with a dash. An empty or
/// missing value, and an option that is given twice, are refused. The word "--" ends the options.
class GivenOptions {
 public:
  /// @param options must outlive the object @throws UsageError
  GivenOptions(const Options& options, std::span<const std::string> words);
  /// Words in front of "--" that are neither an option of these nor a value.
  const std::vector<std::string>& others() const { return others_; }
  /// The words behind "--".
  const std::vector<std::string>& operands() const { return operands_; }
  /// Whether an option was given. @param names as in Option::names
  bool has(const std::string& names) const { return seen_.contains(names); }
  /// The value that was given, as a word; empty if none was.
  std::string value(const std::string& names) const { return has(names) ? seen_.at(names) : ""; }
  /// Stores what was given where the options say. @throws UsageError if a value is not allowed
  void store() const;

 private:
  std::string long_form(const std::string& word) const;
  bool is_option(const std::string& word) const;
  bool is_value(const Option& option, const std::string& word) const;
  void add(const Option& option, const std::string& value);

  std::map<std::string, const Option*> known_;
  std::map<std::string, std::string> seen_;  // values by names
  std::vector<std::pair<const Option*, std::string>> all_;
  std::vector<std::string> others_;
  std::vector<std::string> operands_;
};

}  // namespace speedwell
