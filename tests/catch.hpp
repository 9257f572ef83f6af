// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Catch2, 2.13 or 3: what the tests use is spelled the same with both, Approx and
/// ContainsSubstring included.
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

/// Runs what the command line asks for, in the order of the sources and with one seed, so that all
/// ranks of a job run the same; stops at the first failure when told to. Having found no test is a
/// failure. Runs it again after each of `rounds` has been called. Returns the last status that is
/// not 0.
int run_tests(int argc, char** argv, bool stop_at_failure,
              const std::vector<std::function<void()>>& rounds = {[] {}});
