// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Words of a text, and numbers as text.
#pragma once

#include <charconv>
#include <cstddef>
#include <ctime>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace speedwell {

/// Whether the character separates words within a line. The CR of a CRLF does too.
constexpr bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

/// Removes the blanks at the beginning of `rest`.
inline void skip_blanks(std::string_view& rest) {
  while (!rest.empty() && is_blank(rest.front())) rest.remove_prefix(1);
}

/// Removes the first word from `rest` and returns it; empty if the line has no more words.
std::string_view take_word(std::string_view& rest);

/// The word with its ASCII letters in lower case.
std::string lower(std::string_view word);

/// The text for a message of one line: control characters become "\\n", "\\x1b", and what lies
/// behind `longest` bytes becomes "...".
std::string printable(std::string_view text, std::size_t longest = 40);

/// The bytes of a path that a message shows.
constexpr std::size_t longest_path = 300;

/// A time in UTC: "2026-11-21T18:00:00Z".
std::string utc_text(std::time_t time);

/// The number that `word` spells; nothing if any part of the word is not part of the number.
template <class T>
std::optional<T> number(std::string_view word) {
  T value{};
  const char* end = word.data() + word.size();
  const auto [stop, error] = std::from_chars(word.data(), end, value);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return value;
}

}  // namespace speedwell
