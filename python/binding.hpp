// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// What the sources of the Python modules share: calls of Speedwell from Python, and its options.
#pragma once

#include <mpi.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <unistd.h>
#include <speedwell/speedwell.hpp>

#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "core/option_fields.hpp"

namespace speedwell::python {

namespace nb = nanobind;

/// The communicator at this address, which is that of an MPI_Comm; 0: this process alone.
MPI_Comm communicator(std::uintptr_t address);

/// What a function of Python has raised, on its way through the library: its text is one line.
class Raised : public std::exception {
 public:
  explicit Raised(nb::python_error error)
      : line_(nb::cast<std::string>(nb::repr(error.value()))),
        error_(std::make_exception_ptr(std::move(error))) {}
  const char* what() const noexcept override { return line_.c_str(); }
  [[noreturn]] void raise() const { std::rethrow_exception(error_); }

 private:
  std::string line_;
  std::exception_ptr error_;
};

/// Calls back into Python. @throws Raised; Fault in a child of fork() that comes back from there:
/// it has not the threads that the call goes on with
template <class Work>
void call_back(const Work& work) {
  const pid_t process = ::getpid();
  try {
    work();
  } catch (nb::python_error& error) {
    throw Raised(std::move(error));
  }
  if (::getpid() != process)
    throw Fault(
        "a function that Speedwell called has forked this process, a child, and returned in it; "
        "allowed: a child that ends, or executes another program");
}

/// One call of Speedwell, by a thread of Python. The interpreter is free while it runs, and signals
/// are looked at several times a second, so that Ctrl-C ends the call (in the main thread).
class Call {
 public:
  /// @param progress called with (columns done, n, seconds) while a step factors A; None: not
  explicit Call(nb::object progress) : progress_(std::move(progress)) {}
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  ProgressFunction progress() const;
  InterruptFunction interrupt();

  /// Runs `work` without the interpreter's lock. @throws what `work` throws, or what a handler of a
  /// signal has raised
  template <class Work>
  std::invoke_result_t<Work> run(const Work& work) {
    try {
      const nb::gil_scoped_release release;
      return work();
    } catch (const Raised& raised) {
      raised.raise();
    } catch (const Interrupted&) {
      if (signal_) std::rethrow_exception(std::exchange(signal_, nullptr));
      throw;
    }
  }

 private:
  nb::object progress_;
  std::exception_ptr signal_;  ///< what a handler of a signal has raised
};

/// value <- what Python gave for the option `name`. @throws Python's ValueError
template <class T>
void set_option(std::string_view name, T& value, nb::handle given) {
  if constexpr (std::is_same_v<T, bool>) {
    value = nb::cast<bool>(nb::bool_(given));
  } else if constexpr (std::is_enum_v<T>) {
    const std::string text = nb::cast<std::string>(nb::str(given));
    const std::optional<T> known = parse<T>(text);
    if (!known)
      throw UsageError(std::string(name) + " '" + text +
                       "' is not allowed; allowed: " + allowed_names<T>());
    value = *known;
  } else {
    try {
      value = nb::cast<T>(given);
    } catch (const std::bad_cast&) {
      throw UsageError(std::string(name) + " " + nb::cast<std::string>(nb::repr(given)) +
                       " is not allowed; allowed: " +
                       (std::is_integral_v<T>         ? "a whole number"
                        : std::is_floating_point_v<T> ? "a number"
                                                      : "a list of whole numbers"));
    }
  }
}

/// Options by their names, those that Python gave and defaults for the others.
/// @throws UsageError for a name that is not known, or a value
template <class Options>
Options options_from(const nb::dict& given) {
  Options options;
  std::size_t known = 0;
  for_each_option(options, [&](std::string_view name, auto& value) {
    const nb::str key(name.data(), name.size());
    if (!given.contains(key)) return;
    ++known;
    set_option(name, value, given[key]);
  });
  if (known == given.size()) return options;
  std::string names;
  for_each_option(options, [&](std::string_view name, auto&) {
    names += (names.empty() ? "" : ", ") + std::string(name);
  });
  for (const auto& [key, value] : given) {
    bool is_known = false;
    const std::string text = nb::cast<std::string>(key);
    for_each_option(options, [&](std::string_view name, auto&) { is_known |= name == text; });
    if (!is_known) throw UsageError("option '" + text + "' is not known; allowed: " + names);
  }
  return options;
}

/// As many threads as OpenMP would use, and at most one a core.
int threads_alone();

/// options_from(). A process alone has threads_alone() where none are given.
/// @param comm as communicator() takes it
template <class Options>
Options options_of_run(std::uintptr_t comm, const nb::dict& given) {
  auto options = options_from<Options>(given);
  if (comm == 0 && options.run.threads == 0) options.run.threads = threads_alone();
  return options;
}

void bind_solve(nb::module_& module);
void bind_quick(nb::module_& module);
void bind_forms(nb::module_& module);
void bind_determinants(nb::module_& module);
void bind_benchmarks(nb::module_& module);

}  // namespace speedwell::python
