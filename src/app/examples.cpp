// SPDX-License-Identifier: BSD-3-Clause
#include "app/examples.hpp"

#include <fmt/format.h>

namespace speedwell {

std::string examples_text() {
  std::string text;
  for (const Example& example : examples)
    text += fmt::format("{}# {}\n{}\n", text.empty() ? "" : "\n", example.what, example.command);
  return text;
}

}  // namespace speedwell
