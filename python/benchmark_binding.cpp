// SPDX-License-Identifier: BSD-3-Clause
// mxp() and hpl(), with the document that the command writes with --json.
#include <nlohmann/json.hpp>

#include "bench/benchmark_runner.hpp"
#include "bench/campaign.hpp"
#include "binding.hpp"
#include "comm/agreement.hpp"
#include "core/option_range.hpp"
#include "core/option_text.hpp"
#include "document/benchmark_json.hpp"
#include "document/trace_report.hpp"
#include "io/output_file.hpp"
#include "setup/rates.hpp"

namespace speedwell::python {

namespace {

/// @throws UsageError for a number that the option may not be
template <class T>
void require_allowed(const char* name, T value) {
  if constexpr (std::is_arithmetic_v<T>)
    if (const OptionRange& range = range_of(name); !is_allowed(range, value))
      throw UsageError(std::string(name) + " " + option_text(value) +
                       " is not allowed; allowed: " + range_text<T>(range));
}

/// The configurations that options give, with the lists of some of them in the place of one value.
std::vector<BenchmarkOptions> configurations_of(const BenchmarkOptions& options,
                                                const nb::dict& lists, int ranks) {
  HplDat dat = choices_of(options);
  const auto take = [&]<class T>(const char* name, std::vector<T>& values) {
    if (lists.contains(name)) {
      values.clear();
      for (const nb::handle one : nb::list(lists[name]))
        set_option(name, values.emplace_back(), one);
    }
    if (values.empty())
      throw UsageError(std::string(name) + " [] is not allowed; allowed: one or several values");
    for (const T& value : values) require_allowed(name, value);
  };
  take("n", dat.n);
  take("nb", dat.nb);
  take("nprow", dat.p);
  take("npcol", dat.q);
  take("lookahead", dat.depth);
  take("bcast", dat.broadcast);
  take("nbmin", dat.nbmin);
  take("ndiv", dat.ndiv);
  pair_grids(dat);
  return configurations(dat, options, ranks);
}

/// The profile in the file, whose rates this process knows from then on; empty without a path.
/// Collective.
Profile profile_at(const Communicator& all, const std::string& path) {
  std::string text;
  on_rank_0(all, [&] {
    if (path.empty()) return;
    text = profile_text(path);
    if (text.empty())
      throw UsageError("profile '" + path + "' is not there; allowed: a profile of speedwell tune");
  });
  text = text_of_rank_0(all, std::move(text));
  Profile profile = text.empty() ? Profile() : parse_profile(text, path);
  for (const ProfileRate& rate : profile.rates()) remember(rate);
  return profile;
}

std::string benchmark(std::uintptr_t comm, const std::string& which, const nb::dict& given,
                      const nb::dict& lists, int repeat, const std::string& profile,
                      const std::string& trace, nb::object progress) {
  Call call(std::move(progress));
  auto options = options_of_run<BenchmarkOptions>(comm, given);
  set_option("benchmark", options.benchmark, nb::str(which.c_str()));
  Series series{configurations_of(options, lists, ranks_in(communicator(comm))), repeat};
  return call.run([&] {
    const Communicator all = Communicator::duplicate(communicator(comm));
    series.profile = profile_at(all, profile);
    TraceReport traces;
    if (!trace.empty()) {
      on_rank_0(all, [&] { check_writable(trace, "trace"); });
      series.traced = [&](const Setup& setup, int turn, RunTrace one) {
        if (all.rank() == 0) traces.add(setup, turn, repeat, std::move(one));
      };
    }
    const std::vector<Measured> measured =
        measure(communicator(comm), series, call.progress(), call.interrupt());
    if (!trace.empty()) on_rank_0(all, [&] { traces.write(trace, ""); });
    return json_report(measured, "", {}).dump();
  });
}

}  // namespace

void bind_benchmarks(nb::module_& module) {
  module.def("benchmark", &benchmark, nb::arg("comm"), nb::arg("which"), nb::arg("options"),
             nb::arg("lists"), nb::arg("repeat"), nb::arg("profile"), nb::arg("trace"),
             nb::arg("progress").none());
}

}  // namespace speedwell::python
