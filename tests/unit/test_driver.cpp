// SPDX-License-Identifier: BSD-3-Clause
#include "catch.hpp"
#include "device/cuda/driver.hpp"

namespace speedwell::test::driver_tests {
using speedwell::driver_version;

TEST_CASE("the version of NVIDIA's driver is read from the text of its kernel module") {
  CHECK(driver_version("NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19 "
                       "01:15:15 UTC 2023\nGCC version:  gcc version 11.4.0\n") == "535.104.05");
  CHECK(driver_version(
            "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release "
            "Build  (dvs-builder@U22)\nGCC version:  gcc version 12.3.0\n") == "580.65.06");
  CHECK(driver_version("NVRM version: NVIDIA UNIX Open Kernel Module for aarch64  580.95  Release "
                       "Build\n") == "580.95");
  CHECK(driver_version("NVRM version: who knows\nGCC version:  gcc version 12.3.0\n").empty());
  CHECK(driver_version("").empty());
}
}  // namespace speedwell::test::driver_tests
