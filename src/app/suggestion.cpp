// SPDX-License-Identifier: BSD-3-Clause
#include "app/suggestion.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace speedwell {

// Damerau 1964, in the form in which no part of a word is changed twice: row i has the distances of
// the first i letters of `one` from the beginnings of `other`.
int distance(std::string_view one, std::string_view other) {
  std::vector<std::vector<int>> rows(one.size() + 1, std::vector<int>(other.size() + 1));
  for (std::size_t i = 0; i <= one.size(); ++i)
    for (std::size_t j = 0; j <= other.size(); ++j) {
      int& here = rows[i][j];
      if (i == 0 || j == 0) {
        here = static_cast<int>(i + j);
        continue;
      }
      const int replaced = rows[i - 1][j - 1] + (one[i - 1] != other[j - 1] ? 1 : 0);
      here = std::min({rows[i - 1][j] + 1, rows[i][j - 1] + 1, replaced});
      if (i > 1 && j > 1 && one[i - 1] == other[j - 2] && one[i - 2] == other[j - 1])
        here = std::min(here, rows[i - 2][j - 2] + 1);
    }
  return rows.back().back();
}

std::string suggestion(std::string_view given, const std::vector<std::string>& words) {
  constexpr std::size_t longest = 64;  // the time grows with the square
  if (given.size() > longest) return ";";
  const auto letters = given.size() - std::min(given.size(), given.find_first_not_of('-'));
  int least = static_cast<int>(letters) / 3 + 1;
  const std::string* nearest = nullptr;
  for (const std::string& word : words) {
    const bool begins = letters > 2 && word.starts_with(given);
    if (const int away = begins ? 1 : distance(given, word); away < least) {
      least = away;
      nearest = &word;
    }
  }
  return nearest ? fmt::format("; did you mean '{}'?", *nearest) : ";";
}

}  // namespace speedwell
