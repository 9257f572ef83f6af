// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Catch2, version 2.13 or 3: the tests use the same names with both, Approx and ContainsSubstring
/// included.
#pragma once

#include <functional>
#include <vector>

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>

using Catch::Approx;
using Catch::Matchers::ContainsSubstring;
#else
#include <catch2/catch.hpp>

#include <string>

inline auto ContainsSubstring(const std::string& text) {
  return Catch::Matchers::Contains(text);
}
#endif

/// Runs the tests that the command line selects, in the order of the sources and with a fixed seed,
/// so that all ranks of a job run the same tests. Calls each function of `rounds` in turn and runs
/// the tests after each of them. Selecting no test is a failure.
/// @param stop_at_failure whether a round ends at its first failure
/// @return the last status other than 0; 0 where all rounds passed
int run_tests(int argc, char** argv, bool stop_at_failure,
              const std::vector<std::function<void()>>& rounds = {[] {}});
