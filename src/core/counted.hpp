// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <string_view>

namespace speedwell {

/// "1 rank", "2 ranks", of a noun whose plural ends in s.
template <class Count>
std::string counted(Count count, std::string_view noun) {
  std::string text = std::to_string(count);
  text.append(" ").append(noun);
  if (count != 1) text += 's';
  return text;
}

}  // namespace speedwell
