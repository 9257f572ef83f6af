/// @file
/// Catch2, 2.13 or 3: what the tests use is spelled the same with both, Approx and
/// ContainsSubstring included. The main functions define CATCH_CONFIG_RUNNER first.
#pragma once

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

#ifdef CATCH_CONFIG_RUNNER
#include <functional>
#include <vector>

/// Runs what the command line asks for, in the order of the sources and with one seed, so that all
/// ranks of a job run the same; stops at the first failure when told to. Having found no test is a
/// failure. Runs it again after each of `rounds` has been called. Returns the last status that is
/// not 0.
inline int run_tests(int argc, char** argv, bool stop_at_failure,
                     const std::vector<std::function<void()>>& rounds = {[] {}}) {
  Catch::Session session;
  session.configData().rngSeed = 1;
#if CATCH_VERSION_MAJOR < 3
  session.configData().runOrder = Catch::RunTests::InDeclarationOrder;
  session.configData().warnings = Catch::WarnAbout::NoTests;
#else
  session.configData().runOrder = Catch::TestRunOrder::Declared;
#endif
  if (stop_at_failure) session.configData().abortAfter = 1;
  int status = session.applyCommandLine(argc, argv);
  if (status != 0) return status;
  for (const auto& begin : rounds) {
    begin();
    if (const int failed = session.run(); failed != 0) status = failed;
  }
  return status;
}
#endif
