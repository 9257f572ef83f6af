// SPDX-License-Identifier: BSD-3-Clause
// mxp() and hpl(), with the document that the command writes with --json.
#include <nlohmann/json.hpp>

#include "bench/benchmark_runner.hpp"
#include "binding.hpp"
#include "report/benchmark_json.hpp"

namespace lupine::python {

namespace {

std::string benchmark(std::uintptr_t comm, const std::string& which, const nb::dict& given,
                      nb::object progress) {
  Call call(std::move(progress));
  auto options = options_of_run<BenchmarkOptions>(comm, given);
  set_option("benchmark", options.benchmark, nb::str(which.c_str()));
  return call.run([&] {
    return json_report({measure(communicator(comm), options, call.progress(), call.interrupt())},
                       "", {})
        .dump();
  });
}

}  // namespace

void bind_benchmarks(nb::module_& module) {
  module.def("benchmark", &benchmark, nb::arg("comm"), nb::arg("which"), nb::arg("options"),
             nb::arg("progress").none());
}

}  // namespace lupine::python
