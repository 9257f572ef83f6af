// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// What a module is made of.
#pragma once

#include <nanobind/nanobind.h>

namespace speedwell::python {

/// Gives the module all that Speedwell has for Python.
void bind_all(nanobind::module_& module);

}  // namespace speedwell::python
