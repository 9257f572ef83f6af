// SPDX-License-Identifier: BSD-3-Clause
#include "report/same_run.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "core/expects.hpp"
#include "core/matrix_traits.hpp"
#include "core/option_range.hpp"

namespace speedwell {

namespace {

/// The options of one run, without those that have no effect on it, or that stay open.
std::vector<OptionText> options_of(const Setup& setup) {
  const BenchmarkOptions& o = setup.options;
  const bool hpl = o.benchmark == Benchmark::hpl;
  const bool pivoted = hpl || o.pivoting == Pivoting::partial;
  const auto has_effect = [&](std::string_view name) {
    if (name == "kappa" || name == "rho") return !hpl && traits_of(o.matrix).tunable;
    if (name == "nbmin" || name == "ndiv") return pivoted;
    if (name == "threshold") return hpl;
    if (name == "precision" || name == "pivoting" || name == "matrix" || name == "refine" ||
        name == "max_iterations")
      return !hpl;
    return name != "benchmark" && name != "memory_fraction" && name != "time_target" &&
           (name != "comm" || o.run.device == DeviceKind::cuda);
  };
  std::vector<OptionText> all;
  for_each_option(o, [&](std::string_view name, const auto& value) {
    if (!is_left_open(name, value) && has_effect(name))
      all.push_back({std::string(name), option_text(value)});
  });
  return all;
}

/// The option's value in the list; null where it is not there.
const std::string* value_in(const std::vector<OptionText>& options, const std::string& name) {
  const auto found = std::ranges::find(options, name, &OptionText::name);
  return found == options.end() ? nullptr : &found->value;
}

bool all_have(const std::vector<std::vector<OptionText>>& runs, const OptionText& option) {
  return std::ranges::all_of(runs, [&](const auto& options) {
    const std::string* value = value_in(options, option.name);
    return value != nullptr && *value == option.value;
  });
}

/// The lists as options; without those of one value that is open.
std::vector<OptionText> given_lists(const HplDat& lists) {
  std::vector<OptionText> all;
  const auto add = [&](const char* name, const auto& values) {
    if (!is_open(range_of(name), values.front())) all.push_back({name, option_text(values)});
  };
  add("n", lists.n);
  add("nb", lists.nb);
  add("nprow", lists.p);
  add("npcol", lists.q);
  std::vector<int> depth = lists.depth;
  for (int& one : depth) one = std::min(one, deepest_lookahead);
  add("lookahead", depth);
  all.push_back({"bcast", option_text(lists.broadcast)});
  add("nbmin", lists.nbmin);
  add("ndiv", lists.ndiv);
  return all;
}

}  // namespace

std::vector<std::string> words_of(const std::vector<OptionText>& options) {
  std::vector<std::string> words;
  for (const OptionText& option : options) {
    std::string name = "--" + option.name;
    std::ranges::replace(name, '_', '-');
    words.insert(words.end(), {std::move(name), option.value});
  }
  return words;
}

std::vector<OptionText> options_again(const std::vector<Setup>& setups, const HplDat& lists) {
  SPEEDWELL_EXPECTS(!setups.empty());
  std::vector<std::vector<OptionText>> runs;
  runs.reserve(setups.size());
  for (const Setup& setup : setups) runs.push_back(options_of(setup));
  const std::vector<OptionText> given = given_lists(lists);
  // P and Q make pairs.
  const auto of_grid = [](const std::string& name) { return name == "nprow" || name == "npcol"; };
  const bool one_grid = std::ranges::all_of(runs.front(), [&](const OptionText& option) {
    return !of_grid(option.name) || all_have(runs, option);
  });
  std::vector<OptionText> all;
  for (const OptionText& option : runs.front())
    if (all_have(runs, option) && (one_grid || !of_grid(option.name)))
      all.push_back(option);
    else if (const std::string* list = value_in(given, option.name))
      all.push_back({option.name, *list});
  return all;
}

std::vector<OptionText> options_alone(const Setup& setup) {
  return options_again({setup}, choices_of(BenchmarkOptions{}));
}

std::vector<OptionText> options_again_of_both(const Setup& mxp, const Setup& hpl) {
  const std::vector<OptionText> second = options_of(hpl);
  std::vector<OptionText> all;
  for (const OptionText& option : options_of(mxp)) {
    const std::string* other = value_in(second, option.name);
    if (option.name == "n" || option.name == "nb" || other == nullptr || *other == option.value)
      all.push_back(option);
  }
  for (const OptionText& option : second) {
    if (option.name == "n" || option.name == "nb")
      all.push_back({"hpl_" + option.name, option.value});
    else if (option.name == "nbmin" || option.name == "ndiv")
      if (value_in(all, option.name) == nullptr && mxp.options.pivoting == Pivoting::none)
        all.push_back(option);
  }
  return all;
}

}  // namespace speedwell
