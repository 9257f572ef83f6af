// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Words of a text, and numbers in them.
#pragma once

#include <charconv>
#include <ctime>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace lupine {

/// What separates words within a line; the CR of a line's end too.
constexpr bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

/// Takes the blanks at the beginning from `rest`.
inline void skip_blanks(std::string_view& rest) {
  while (!rest.empty() && is_blank(rest.front())) rest.remove_prefix(1);
}

/// The first word of `rest`, which it is taken from; empty if the line has none left.
std::string_view take_word(std::string_view& rest);

/// The same in small letters, of ASCII.
std::string lower(std::string_view word);

/// A word as it may stand in a message of one line: no control characters, not too long.
std::string printable(std::string_view word);

/// "2026-11-21T18:00:00Z".
std::string utc_text(std::time_t time);

/// The number that all of `word` is.
template <class T>
std::optional<T> number(std::string_view word) {
  T value{};
  const char* end = word.data() + word.size();
  const auto [stop, error] = std::from_chars(word.data(), end, value);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return value;
}

}  // namespace lupine
