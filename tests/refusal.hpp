// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The error message of a call that is refused.
#pragma once

#include <speedwell/error.hpp>

#include <string>

namespace speedwell::test {

/// The message of the UsageError that `call` throws; empty where it throws none.
template <class Call>
std::string refusal_of(const Call& call) {
  try {
    call();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

}  // namespace speedwell::test
