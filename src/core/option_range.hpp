// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The one table of the numbers that options may be. The checks of the command line, of the library
/// and of files come from it.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

namespace speedwell {

/// The finite numbers that a user may give to an option.
struct OptionRange {
  std::string_view option;  ///< its name, as for_each_option has it
  double from = -std::numeric_limits<double>::infinity();
  double to = std::numeric_limits<double>::infinity();  ///< infinity: the largest of its type
  bool above = false;                                   ///< the number is above `from`
  bool below = false;                                   ///< the number is below `to`
  std::optional<int> open{};  ///< stands for Speedwell's choice, where a program gives the option
  std::string_view unit{};    ///< "seconds"
};

inline constexpr OptionRange option_ranges[]{
    {.option = "lookahead", .from = 0, .to = 1, .open = -1},
    {.option = "gpus", .from = 0},
    {.option = "reserve", .from = 0, .to = 64, .open = -1},
    {.option = "threads", .from = 1, .to = 4096, .open = 0},
    {.option = "stall_timeout", .from = 0, .unit = "seconds"},
    {.option = "nbmin", .from = 1, .to = 4096, .open = 0},
    {.option = "ndiv", .from = 2, .to = 64},
    {.option = "kappa", .from = 1, .above = true},
    {.option = "rho", .from = 0, .to = 1, .above = true},
    {.option = "seed", .from = 0},
    {.option = "max_iterations", .from = 1},
    {.option = "threshold"},
    {.option = "memory_fraction", .from = 0, .to = 1, .above = true, .open = 0},
    {.option = "time_target", .from = 0, .above = true, .open = 0, .unit = "seconds"},
    {.option = "tolerance", .from = 0, .to = 1, .above = true, .below = true, .open = 0},
    {.option = "budget", .from = 0, .above = true, .unit = "seconds"},
    {.option = "seconds", .from = 1, .to = 60, .unit = "seconds"},
    {.option = "limit", .from = 0, .to = 100, .above = true, .below = true, .unit = "percent"},
    {.option = "monitor", .from = 0.05, .to = 3600, .open = 0, .unit = "seconds"},
    {.option = "monitor_temperature", .from = 0, .to = 200, .above = true, .open = 0, .unit = "C"},
    {.option = "monitor_clock", .from = 0, .to = 10000, .above = true, .open = 0, .unit = "MHz"},
    {.option = "monitor_power", .from = 0, .to = 10000, .above = true, .open = 0, .unit = "W"},
    {.option = "corrections", .from = 1, .to = 1000},
};

/// What the options without a row may be, such as orders and block sizes.
inline constexpr OptionRange other_options{.option = {}, .from = 1, .open = 0};

constexpr const OptionRange& range_of(std::string_view option) {
  for (const OptionRange& range : option_ranges)
    if (range.option == option) return range;
  return other_options;
}

/// As which a deeper look-ahead of HPL.dat is taken.
inline constexpr int deepest_lookahead = static_cast<int>(range_of("lookahead").to);

/// Whether a user may give this number.
template <class Number>
constexpr bool is_in(const OptionRange& range, Number number) {
  const auto value = static_cast<double>(number);
  return (range.above ? value > range.from : value >= range.from) &&
         (range.below ? value < range.to : value <= range.to) && value - value == 0;
}

/// Whether the number leaves the choice to Speedwell.
template <class Number>
constexpr bool is_open(const OptionRange& range, Number number) {
  return range.open && static_cast<double>(number) == *range.open;
}

/// Whether an option's value leaves the choice to Speedwell: an empty list or text, or such a
/// number.
template <class Value>
constexpr bool is_left_open(std::string_view option, const Value& value) {
  if constexpr (requires { value.empty(); })
    return value.empty();
  else if constexpr (std::is_arithmetic_v<Value> && !std::is_same_v<Value, bool>)
    return is_open(range_of(option), value);
  else
    return false;
}

/// Whether a program may give this number.
template <class Number>
constexpr bool is_allowed(const OptionRange& range, Number number) {
  return is_in(range, number) || is_open(range, number);
}

/// The range in words: "a whole number from 1 to 4096".
/// @param largest number of the option's type; 0: the type has real numbers
std::string range_text(const OptionRange& range, std::uint64_t largest);

template <class Number>
std::string range_text(const OptionRange& range) {
  constexpr auto largest = std::numeric_limits<Number>::max();
  return range_text(range, std::is_integral_v<Number> ? static_cast<std::uint64_t>(largest) : 0);
}

}  // namespace speedwell
