// SPDX-License-Identifier: BSD-3-Clause
#include "catch.hpp"

int main(int argc, char** argv) {
  return run_tests(argc, argv, false);
}
