// SPDX-License-Identifier: BSD-3-Clause
#include "app/option.hpp"

#include "io/text.hpp"

namespace speedwell {

[[noreturn]] void reject(const std::string& option, std::string_view value,
                         const std::string& allowed) {
  throw UsageError(
      fmt::format("{}: '{}' is not allowed; allowed: {}", option, printable(value), allowed));
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
  return CLI::detail::split(option.names, ',');
}

Option file(std::string names, std::string help, std::string& target) {
  return {std::move(names), "FILE", std::move(help), "a file name",
          [&target](const std::string& text) { target = text; }};
}

void append(Options& all, Options more) {
  std::move(more.begin(), more.end(), std::back_inserter(all));
}

Normalizer::Normalizer(const Options& options) {
  for (const Option& option : options)
    for (const std::string& name : names_of(option)) known_[name] = &option;
}

// Rewrites HPL's option of two letters after one dash, and values that follow an option without a
// blank: "-NB", "-N4096", "-P=2" become "--nb", "--n=4096", "--nprow=2", if the command has these.
std::string Normalizer::long_form(const std::string& word) const {
  constexpr std::pair<std::string_view, std::string_view> forms[]{
      {"-NB", "--nb"},   {"-N", "--n"},   {"-P", "--nprow"},
      {"-Q", "--npcol"}, {"-i", "--dat"}, {"-o", "--output"}};
  for (const auto& [from, to] : forms) {
    if (word.rfind(from, 0) != 0) continue;
    const std::string rest = word.substr(from.size());
    // "-NB" must not become -N with the value B.
    if (known_.count(std::string(to)) == 0 && from != "-NB") return word;
    if (rest.empty()) return std::string(to);
    return fmt::format("{}={}", to, rest[0] == '=' ? rest.substr(1) : rest);
  }
  return word;
}

std::vector<std::string> Normalizer::operator()(const std::vector<std::string>& words) {
  std::vector<std::string> result;
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::string word = long_form(words[i]);
    const std::string name = word.substr(0, word.find('='));
    const auto found = known_.find(name);
    if (word == "--") {
      operands_.assign(words.begin() + static_cast<std::ptrdiff_t>(i) + 1, words.end());
      break;
    }
    if (found != known_.end() && found->second->is_flag()) {
      take_flag(*found->second, word);
    } else if (found != known_.end()) {
      const Option& option = *found->second;
      const bool is_usual = !option.usual.empty() && !has_value(option, words, i + 1);
      if (word == name) word += "=" + (is_usual ? option.usual : next_value(option, words, ++i));
      if (word.size() == name.size() + 1) reject(option.names, "", option.allowed);
      require_first(option.names, word.substr(name.size() + 1));
    }
    result.push_back(word);
  }
  return result;
}

bool Normalizer::is_option(const std::string& word) const {
  return word.size() > 1 && word[0] == '-' &&
         (word[1] == '-' || known_.count(long_form(word).substr(0, word.find('='))) > 0);
}

/// Whether word i is the value of an option that may stand alone.
bool Normalizer::has_value(const Option& option, const std::vector<std::string>& words,
                           std::size_t i) const {
  if (i >= words.size()) return false;
  return option.placeholder == "NUMBER" ? read<double>(words[i]).has_value() : !is_option(words[i]);
}

std::string Normalizer::next_value(const Option& option, const std::vector<std::string>& words,
                                   std::size_t i) const {
  if (i >= words.size() || is_option(words[i]))
    throw UsageError(
        fmt::format("{}: the value is missing; allowed: {}", option.names, option.allowed));
  return words[i];
}

void Normalizer::take_flag(const Option& option, const std::string& word) {
  if (word.find('=') != word.npos)
    throw UsageError(fmt::format("{}: takes no value; allowed: {}", printable(word), option.names));
  require_first(option.once.empty() ? option.names : option.once);
}

void Normalizer::require_first(const std::string& names, const std::string& value) {
  if (!seen_.emplace(names, value).second)
    throw UsageError(fmt::format("{}: given more than once; allowed: once", names));
}

}  // namespace speedwell
