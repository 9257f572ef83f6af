// SPDX-License-Identifier: BSD-3-Clause
#include "core/option_text.hpp"

#include <array>
#include <charconv>

namespace speedwell {

namespace {

template <class Number>
std::string digits(Number value) {
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  return {text.data(), end};
}

}  // namespace

std::string option_text(std::int64_t value) {
  return digits(value);
}

std::string option_text(std::uint64_t value) {
  return digits(value);
}

std::string option_text(double value) {
  return digits(value);
}

std::string option_text(bool value) {
  return value ? "on" : "off";
}

}  // namespace speedwell
