// SPDX-License-Identifier: BSD-3-Clause
// CMake compiles the common headers (tests/CMakeLists.txt) for a source: this one needs nothing
// else.
