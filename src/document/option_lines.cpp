// SPDX-License-Identifier: BSD-3-Clause
#include "document/option_lines.hpp"

#include <fmt/format.h>
#include <speedwell/error.hpp>

#include <algorithm>
#include <array>
#include <cctype>

#include "document/report_parts.hpp"

namespace speedwell {

namespace {

/// An option's label in reports, and the unit after its value. An option without such words has its
/// name as label.
struct Words {
  std::string_view option;
  std::string_view label;
  std::string_view unit{};
};
constexpr std::array words{Words{"lookahead", "DEPTH", " (look-ahead)"},
                           Words{"chunk", "CHUNK", " columns at a time"},
                           Words{"panel", "PANEL", " columns a step"},
                           Words{"nporder", "PMAP"},
                           Words{"nprow", "P"},
                           Words{"npcol", "Q"},
                           Words{"pivoting", "PIVOT"},
                           Words{"stall_timeout", "STALLS", " s of waiting at most (0: no limit)"}};

Words words_of(std::string_view name) {
  const auto* const known =
      std::find_if(words.begin(), words.end(), [&](const Words& w) { return w.option == name; });
  return known != words.end() ? *known : Words{name, name};
}

std::string listed(const std::vector<std::string>& values) {
  if (values.size() == 1) return values.front();
  std::string text;
  for (const std::string& value : values) text += fmt::format("{:>8} ", value);
  return text;
}

}  // namespace

void OptionLines::add(const std::vector<OptionText>& options) {
  if (lines_.empty())
    for (const OptionText& option : options) lines_.push_back({option.name, {}});
  for (const OptionText& option : options) {
    std::vector<std::string>& values = find(option.name).values;
    if (std::find(values.begin(), values.end(), option.value) == values.end())
      values.push_back(option.value);
  }
}

OptionLines::Line& OptionLines::find(std::string_view name) {
  const auto line =
      std::find_if(lines_.begin(), lines_.end(), [&](const Line& one) { return one.name == name; });
  if (line == lines_.end()) throw Fault(fmt::format("a report asks for an option '{}'", name));
  return *line;
}

std::string OptionLines::take(std::string_view name, const std::string& reason) {
  const std::vector<std::string>& values = find(name).values;
  return take_as(name, listed(values).append(words_of(name).unit),
                 values.size() == 1 ? reason : "");
}

std::string OptionLines::take_as(std::string_view name, const std::string& text,
                                 const std::string& reason) {
  find(name).told = true;
  std::string label(words_of(name).label);
  for (char& c : label) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return line(label, text.empty() ? "none" : text, reason);
}

void OptionLines::skip(const std::vector<std::string_view>& names) {
  for (const std::string_view name : names) find(name).told = true;
}

std::string OptionLines::rest() {
  std::string text;
  for (const Line& one : lines_)
    if (!one.told) text += take(one.name);
  return text;
}

}  // namespace speedwell
