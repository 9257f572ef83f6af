// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The word that a user may have meant.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace speedwell {

/// The number of letters that must be inserted, left out, replaced or exchanged with their
/// neighbours to turn one word into the other (the optimal string alignment distance).
int distance(std::string_view one, std::string_view other);

/// "; did you mean 'WORD'?" with the nearest of the words, or ";" where none is within a third of
/// the letters. A word that begins with what was given is as near as one that differs in a
/// letter. Of equally near ones the first.
std::string suggestion(std::string_view given, const std::vector<std::string>& words);

}  // namespace speedwell
