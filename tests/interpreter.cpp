// SPDX-License-Identifier: BSD-3-Clause
// Python's interpreter, compiled as the tests are: with a sanitizer, where a build has one.
#include <Python.h>

int main(int argc, char** argv) {
  return Py_BytesMain(argc, argv);
}
