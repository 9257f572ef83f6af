// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// What a call is refused with.
#pragma once

#include <lupine/error.hpp>

#include <string>

namespace lupine::test {

/// The words of the UsageError that `call` throws; none where it throws none.
template <class Call>
std::string refusal_of(const Call& call) {
  try {
    call();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

}  // namespace lupine::test
