// SPDX-License-Identifier: BSD-3-Clause
// The implementation of Catch2 2 is in its header and takes long to compile: only this file has it.
#define CATCH_CONFIG_RUNNER
#include "catch.hpp"

int run_tests(int argc, char** argv, bool stop_at_failure,
              const std::vector<std::function<void()>>& rounds) {
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
