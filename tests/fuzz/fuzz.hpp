// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// What libFuzzer gives bytes to: a function for each parser of what users write. A function
/// returns if the bytes are read, or refused as the parser documents. Everything else is a finding:
/// another exception, a crash, or a false promise of the parser.
#pragma once

#include <speedwell/error.hpp>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace speedwell::fuzz {

void command_line(std::string_view bytes);   ///< words of the command line
void hpl_dat(std::string_view bytes);        ///< the text of an HPL.dat, and the runs of its lists
void machine(std::string_view bytes);        ///< a machine file; what is read can be written
void matrix_market(std::string_view bytes);  ///< a Matrix Market file, whole and in two parts
void npy(std::string_view bytes);            ///< a .npy file and its numbers
void npz(std::string_view bytes);            ///< the one array of a .npz file, or that of name a
void nvidia_flags(std::string_view bytes);  ///< words for run/hpl-mxp.sh, and what it makes of them
void options(std::string_view bytes);       ///< words of the command line
void profile(std::string_view bytes);       ///< a profile; its tunings can be found

/// @throws std::logic_error, which nothing catches, if what a parser promises does not hold
inline void expect(bool promise, const std::string& words) {
  if (!promise) throw std::logic_error(words);
}

/// Calls `parse`, which may refuse its input by a UsageError of one line.
template <class Parse>
void read_or_refuse(const Parse& parse) {
  try {
    parse();
  } catch (const UsageError& error) {
    const std::string_view words = error.what();
    const bool is_line = std::none_of(words.begin(), words.end(),
                                      [](unsigned char c) { return c < ' ' || c == '\x7f'; });
    expect(!words.empty() && is_line, "a refusal that is not one line: " + std::string(words));
  }
}

/// The lines of the text as words of a command line, none of which has a NUL.
inline std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of(std::string_view("\n\0", 2)), text.size());
    words.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

}  // namespace speedwell::fuzz
