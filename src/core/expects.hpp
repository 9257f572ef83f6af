// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// LUPINE_EXPECTS(condition): what a function's `@pre` says, checked where it begins.
///
/// Builds with LUPINE_CHECKS (CMake; debug and asan have it) end the program where the condition
/// does not hold. Others compile it and do not evaluate it. An expression: it may stand in a
/// constructor's initializers and in a constexpr function. For hosts; element/element.hpp has the
/// like of it for code that runs on GPUs too.
#pragma once

namespace lupine {

/// Whether this build checks. The definition comes with every layer (cmake/Layer.cmake).
inline constexpr bool checks_preconditions = LUPINE_CHECK_PRECONDITIONS != 0;

/// Says on standard error which condition does not hold, and ends the program (SIGABRT).
[[noreturn]] void broken_precondition(const char* condition, const char* file, int line) noexcept;

}  // namespace lupine

#define LUPINE_EXPECTS(condition)                                                      \
  static_cast<void>(!::lupine::checks_preconditions || static_cast<bool>(condition) || \
                    (::lupine::broken_precondition(#condition, __FILE__, __LINE__), false))
