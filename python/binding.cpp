// SPDX-License-Identifier: BSD-3-Clause
// What the modules have, and what the sources of binding.hpp share.
#include "binding.hpp"

#include <omp.h>

#include <algorithm>
#include <atomic>

#include <memory>

#include "comm/communicator.hpp"
#include "device/device.hpp"
#include "host/blas_kernels.hpp"
#include "host/blas_library.hpp"
#include "host/processor.hpp"
#include "module.hpp"
#include "revision.hpp"

namespace speedwell::python {

namespace {

nb::dict describe() {
  nb::dict all;
  all["version"] = SPEEDWELL_VERSION;
  all["revision"] = SPEEDWELL_REVISION;
  const std::string& kernels = settle_blas_kernels();
  all["blas"] = blas_description();
  all["blas_kernels"] =
      kernels.empty() ? nb::object(nb::none()) : nb::object(nb::str(kernels.c_str()));
  all["onednn"] = onednn_description();
  all["processor"] = processor_info().model;
  all["cores"] = bound_cores();
  all["gpus"] = count_gpus();
  all["mpi"] = mpi_version();
  return all;
}

/// Whether the interpreter is about to end.
std::atomic<bool>& calls_end() {
  static std::atomic<bool> end = false;
  return end;
}

/// Sets Python's error MODULE.NAME(arguments...).
template <class... Arguments>
void raise(const char* module, const char* name, Arguments&&... arguments) {
  const nb::object type = nb::module_::import_(module).attr(name);
  const nb::object error = type(std::forward<Arguments>(arguments)...);
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.ptr())), error.ptr());
}

/// The words of an exception, with Python's keywords in the place of the command's options.
nb::object in_keywords(const std::exception& error) {
  return nb::module_::import_("speedwell._errors").attr("in_keywords")(error.what());
}

/// Sets Python's error for an exception of Speedwell.
void translate(const std::exception_ptr& thrown, void* /*unused*/) {
  try {
    std::rethrow_exception(thrown);
  } catch (const SingularError& error) {
    raise("speedwell._errors", "SingularMatrixError", error.what(), error.pivot());
  } catch (const AccuracyError& error) {
    raise("speedwell._errors", "inaccurate", error.what(), Solution(error.best()));
  } catch (const NotEnoughMemory& error) {
    raise("builtins", "MemoryError", in_keywords(error));
  } catch (const OutOfMemory& error) {
    raise("builtins", "MemoryError", error.what());
  } catch (const UsageError& error) {
    raise("builtins", "ValueError", in_keywords(error));
  } catch (const Interrupted& error) {
    raise("speedwell._errors", "Interrupted", error.what());
  } catch (const Error& error) {
    raise("speedwell._errors", "Fault", error.what(), error.rank());
  }
}

}  // namespace

MPI_Comm communicator(std::uintptr_t address) {
  return address == 0 ? MPI_COMM_SELF : *reinterpret_cast<const MPI_Comm*>(address);
}

int threads_alone() {
  return std::min(omp_get_max_threads(), bound_cores());
}

ProgressFunction Call::progress() const {
  if (progress_.is_none()) return {};
  return [this](const Progress& now) {
    const nb::gil_scoped_acquire acquire;
    call_back([&] { progress_(now.columns_done, now.n, now.seconds); });
  };
}

InterruptFunction Call::interrupt() {
  return [this] {
    const nb::gil_scoped_acquire acquire;
    if (calls_end()) PyErr_SetNone(PyExc_SystemExit);  // ends a thread without words
    if (!calls_end() && PyErr_CheckSignals() == 0) return false;
    signal_ = std::make_exception_ptr(nb::python_error());
    return true;
  };
}

void bind_all(nb::module_& module) {
  // What the last interpreter leaves behind at its end is no leak that a user could fix.
  nb::set_leak_warnings(false);
  nb::register_exception_translator(&translate);
  module.doc() = "Speedwell's C++ library. Its users are the other modules of the package.";
  module.def("describe", &describe);
  module.def("release", &speedwell::release, nb::call_guard<nb::gil_scoped_release>());
  module.def("rank", [](std::uintptr_t comm) { return rank_in(communicator(comm)); });
  module.def("ranks", [](std::uintptr_t comm) { return ranks_in(communicator(comm)); });
  module.def("end_calls", [](bool end) { calls_end() = end; });
  module.def("check_options", [](const nb::dict& given) { options_from<SolveOptions>(given); });
  module.def("is_started", [] {
    int started = 0;
    check_mpi(MPI_Initialized(&started), "MPI_Initialized");
    return started != 0;
  });
  bind_solve(module);
  bind_quick(module);
  bind_forms(module);
  bind_determinants(module);
  bind_benchmarks(module);
}

}  // namespace speedwell::python
