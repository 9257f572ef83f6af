// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// SPEEDWELL_EXPECTS(condition): checks a function's `@pre` where the function begins.
///
/// Builds with SPEEDWELL_CHECKS (a CMake option; the presets debug and asan have it) end the
/// program where the condition does not hold. Other builds compile the condition and do not
/// evaluate it. The macro is an expression, so it may stand in a constructor's initializers and in
/// a constexpr function. It is for host code; element/element.hpp has one for code that runs on
/// GPUs too.
#pragma once

namespace speedwell {

/// Whether this build checks preconditions. cmake/Layer.cmake defines the macro for every layer.
inline constexpr bool checks_preconditions = SPEEDWELL_CHECK_PRECONDITIONS != 0;

/// Prints the broken condition and its place on standard error, and ends the program (SIGABRT).
[[noreturn]] void broken_precondition(const char* condition, const char* file, int line) noexcept;

}  // namespace speedwell

#define SPEEDWELL_EXPECTS(condition)                                                      \
  static_cast<void>(!::speedwell::checks_preconditions || static_cast<bool>(condition) || \
                    (::speedwell::broken_precondition(#condition, __FILE__, __LINE__), false))
