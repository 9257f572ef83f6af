// SPDX-License-Identifier: BSD-3-Clause
// mxp() and hpl(), with the document that the command writes with --json.
#include <memory>
#include <nlohmann/json.hpp>

#include "bench/campaign.hpp"
#include "binding.hpp"
#include "comm/agreement.hpp"
#include "comm/interruption.hpp"
#include "report/benchmark_json.hpp"

namespace lupine::python {

namespace {

std::string benchmark(std::uintptr_t comm, const std::string& which, const nb::dict& given,
                      nb::object progress) {
  Call call(std::move(progress));
  auto options = options_of_run<BenchmarkOptions>(comm, given);
  set_option("benchmark", options.benchmark, nb::str(which.c_str()));
  return call.run([&] {
    return on_this_rank(communicator(comm), [&] {
      const ProgressFunction shown = call.progress();
      Interruption interruption(communicator(comm), call.interrupt(), shown != nullptr);
      std::unique_ptr<BenchmarkRunner> runner;
      const auto work = [&] {
        runner = std::make_unique<BenchmarkRunner>(communicator(comm), options, interruption.get());
        Measured measured{runner->setup(), {}};
        measured.runs.push_back(runner->run(shown));
        return json_report({std::move(measured)}, "", {}).dump();
      };
      return interruption.during(work, [&] { runner.reset(); });
    });
  });
}

}  // namespace

void bind_benchmarks(nb::module_& module) {
  module.def("benchmark", &benchmark, nb::arg("comm"), nb::arg("which"), nb::arg("options"),
             nb::arg("progress").none());
}

}  // namespace lupine::python
