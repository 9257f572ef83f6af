// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The lines of a report about options, made of the list in core/option_fields.hpp.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/option_text.hpp"

namespace speedwell {

/// Collects the options of one or several runs, and writes them as lines. A report takes the lines
/// of the options that it names, and at its end the lines of all others. So an option that no
/// report names is shown in every report.
class OptionLines {
 public:
  /// Adds the options of a run. Every call must have the same type of options.
  template <class Options>
  void add(const Options& options) {
    add(option_texts(options));
  }
  void add(const std::vector<OptionText>& options);

  /// The line of an option: "NB         : 512          chosen: <reason>". If runs have different
  /// values, it lists each value once, without the reason. @throws Fault if there is no such option
  std::string take(std::string_view name, const std::string& reason = "");
  /// The line of an option with `text` in place of its values. @throws Fault if there is no such
  /// option
  std::string take_as(std::string_view name, const std::string& text,
                      const std::string& reason = "");
  /// Leaves options out of rest(): those that the report shows in other words, or that have no
  /// effect here. @throws Fault if there is no such option
  void skip(const std::vector<std::string_view>& names);
  /// The lines of all options that were neither taken nor skipped.
  std::string rest();

 private:
  struct Line {
    std::string name;
    std::vector<std::string> values;  // of all runs, each once
    bool told = false;                // taken or skipped
  };

  Line& find(std::string_view name);

  std::vector<Line> lines_;
};

}  // namespace speedwell
