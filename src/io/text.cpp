// SPDX-License-Identifier: BSD-3-Clause
#include "io/text.hpp"

#include <algorithm>
#include <array>

namespace lupine {

std::string_view take_word(std::string_view& rest) {
  skip_blanks(rest);
  const auto* end =
      std::find_if(rest.begin(), rest.end(), [](char c) { return is_blank(c) || c == '\n'; });
  const std::string_view word = rest.substr(0, static_cast<std::size_t>(end - rest.begin()));
  rest.remove_prefix(word.size());
  return word;
}

std::string lower(std::string_view word) {
  std::string text(word);
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return text;
}

std::string printable(std::string_view word) {
  constexpr std::size_t longest = 40;
  std::string text(word.substr(0, longest));
  for (char& c : text)
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') c = '?';
  return word.size() > longest ? text + "..." : text;
}

std::string utc_text(std::time_t time) {
  std::tm parts{};
  gmtime_r(&time, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text.data();
}

}  // namespace lupine
