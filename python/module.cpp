// SPDX-License-Identifier: BSD-3-Clause
// The entry of speedwell._alone, and that of speedwell._mpi. All else is compiled once for both.
#include "module.hpp"

NB_MODULE(SPEEDWELL_PYTHON_MODULE, module) {
  speedwell::python::bind_all(module);
}
