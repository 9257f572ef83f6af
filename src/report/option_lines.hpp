// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The lines of a report about options, made of the one list of them.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/option_text.hpp"

namespace lupine {

/// Collects the options of one run or of several; a report takes the lines that it has a place for,
/// and at its end the rest. So an option that no report knows of is in all of them.
class OptionLines {
 public:
  /// The options of another run; every call has the same struct.
  template <class Options>
  void add(const Options& options) {
    add(option_texts(options));
  }
  void add(const std::vector<OptionText>& options);

  /// "NB         : 512          chosen: <reason>". The values of several runs are listed, each
  /// once, and have no reason. @throws Fault if there is no such option
  std::string take(std::string_view name, const std::string& reason = "");
  /// The same with a text in place of the value.
  std::string take_as(std::string_view name, const std::string& text,
                      const std::string& reason = "");
  /// Options for which the report has words of its own, or which mean nothing here.
  void skip(const std::vector<std::string_view>& names);
  /// A line for every option that was neither taken nor skipped.
  std::string rest();

 private:
  struct Line {
    std::string name;
    std::vector<std::string> values;  // each once
    bool told = false;
  };

  Line& find(std::string_view name);

  std::vector<Line> lines_;
};

}  // namespace lupine
