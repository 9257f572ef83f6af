// SPDX-License-Identifier: BSD-3-Clause
#include "io/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace speedwell {

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

std::string printable(std::string_view text, std::size_t longest) {
  std::size_t length = std::min(longest, text.size());
  // The bytes of one character of UTF-8 stay together.
  while (length > 0 && length < text.size() && (text[length] & '\xc0') == '\x80') --length;
  std::string shown;
  for (const char c : text.substr(0, length)) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\n')
      shown += "\\n";
    else if (byte < ' ' || c == '\x7f')
      shown += fmt::format("\\x{:02x}", byte);
    else
      shown += c;
  }
  return length < text.size() ? shown + "..." : shown;
}

std::string utc_text(std::time_t time) {
  std::tm parts{};
  gmtime_r(&time, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text.data();
}

}  // namespace speedwell
