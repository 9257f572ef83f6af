// SPDX-License-Identifier: BSD-3-Clause
#include "app/option.hpp"

#include <algorithm>
#include <cstddef>

namespace speedwell {

[[noreturn]] void reject(const std::string& option, std::string_view value,
                         const std::string& allowed) {
  throw UsageError(
      fmt::format("{}: '{}' is not allowed; allowed: {}", option, printable(value), allowed));
}

std::vector<std::string> words_between_commas(const std::string& text) {
  std::vector<std::string> words(1);
  for (const char c : text)
    if (c == ',')
      words.emplace_back();
    else
      words.back() += c;
  return words;
}

const OptionRange& range_of_names(const std::string& names) {
  std::string option = names.substr(names.rfind("--") + 2);
  std::ranges::replace(option, '-', '_');
  return range_of(option);
}

Option on_off(std::string names, std::string help, bool& target) {
  Option option{std::move(names), "on|off", std::move(help), "on, off", {}};
  option.set = [&target, name = option.names](const std::string& text) {
    if (text != "on" && text != "off") reject(name, text, "on, off");
    target = text == "on";
  };
  return option;
}

Option flag(std::string names, std::string help, std::function<void()> set, std::string once) {
  Option option{std::move(names), "", std::move(help), "", {}};
  option.set = [set = std::move(set)](const std::string&) { set(); };
  option.once = std::move(once);
  return option;
}

std::vector<std::string> names_of(const Option& option) {
  return words_between_commas(option.names);
}

Option file(std::string names, std::string help, std::string& target) {
  return {std::move(names), "FILE", std::move(help), "a file name",
          [&target](const std::string& text) { target = text; }};
}

void append(Options& all, Options more) {
  std::move(more.begin(), more.end(), std::back_inserter(all));
}

GivenOptions::GivenOptions(const Options& options, std::span<const std::string> words) {
  for (const Option& option : options)
    for (const std::string& name : names_of(option)) known_[name] = &option;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--") {
      operands_.assign(words.begin() + static_cast<std::ptrdiff_t>(i) + 1, words.end());
      break;
    }
    const std::string word = long_form(words[i]);
    const std::size_t end = std::min(word.find('='), word.size());
    const auto found = known_.find(word.substr(0, end));
    if (found == known_.end()) {
      others_.push_back(word);
      continue;
    }
    const Option& option = *found->second;
    const bool has_next = i + 1 < words.size() && is_value(option, words[i + 1]);
    if (option.is_flag() && end < word.size())
      throw UsageError(
          fmt::format("{}: takes no value; allowed: {}", printable(word), option.names));
    if (option.is_flag() || end < word.size())
      add(option, option.is_flag() ? "" : word.substr(end + 1));
    else if (has_next)
      add(option, words[++i]);
    else if (!option.usual.empty())
      add(option, option.usual);
    else
      throw UsageError(
          fmt::format("{}: the value is missing; allowed: {}", option.names, option.allowed));
  }
}

// HPL's option of two letters after one dash, and values that follow an option without a blank:
// "-NB", "-N4096", "-P=2" become "--nb", "--n=4096", "--nprow=2", if the command has these.
std::string GivenOptions::long_form(const std::string& word) const {
  constexpr std::pair<std::string_view, std::string_view> forms[]{
      {"-NB", "--nb"},   {"-N", "--n"},   {"-P", "--nprow"},
      {"-Q", "--npcol"}, {"-i", "--dat"}, {"-o", "--output"}};
  for (const auto& [from, to] : forms) {
    if (!word.starts_with(from)) continue;
    const std::string rest = word.substr(from.size());
    // "-NB" must not become -N with the value B.
    if (!known_.contains(std::string(to)) && from != "-NB") return word;
    if (rest.empty()) return std::string(to);
    return fmt::format("{}={}", to, rest[0] == '=' ? rest.substr(1) : rest);
  }
  return word;
}

bool GivenOptions::is_option(const std::string& word) const {
  return word.size() > 1 && word[0] == '-' &&
         (word[1] == '-' || known_.contains(long_form(word).substr(0, word.find('='))));
}

/// Whether the word behind the option's name is its value.
bool GivenOptions::is_value(const Option& option, const std::string& word) const {
  const bool may_stand_alone = !option.usual.empty();
  if (may_stand_alone && option.placeholder == "NUMBER") return number<double>(word).has_value();
  return !is_option(word);
}

void GivenOptions::add(const Option& option, const std::string& value) {
  if (!option.is_flag() && value.empty()) reject(option.names, "", option.allowed);
  const std::string& names = option.once.empty() ? option.names : option.once;
  if (!seen_.emplace(names, value).second)
    throw UsageError(fmt::format("{}: given more than once; allowed: once", names));
  all_.emplace_back(&option, value);
}

void GivenOptions::store() const {
  for (const auto& [option, value] : all_) option->set(value);
}

}  // namespace speedwell
