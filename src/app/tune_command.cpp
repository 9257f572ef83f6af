// SPDX-License-Identifier: BSD-3-Clause
#include "app/tune_command.hpp"

#include <nlohmann/json.hpp>

#include "app/files.hpp"
#include "app/output.hpp"
#include "bench/tune.hpp"
#include "comm/agreement.hpp"
#include "report/tune_report.hpp"
#include "setup/rates.hpp"

namespace speedwell {

namespace {

TunedBenchmark tune_one(const Communicator& world, const BenchmarkOptions& options,
                        const TuneList& list, double seconds) {
  const auto print_first = [&](const auto& text) { on_rank_0(world, [&] { print(text()); }); };
  TuneProgress progress;
  progress.begun = [&](const Setup& setup, std::int64_t columns) {
    print_first([&] { return tune_head(setup, columns); });
  };
  progress.compared = [&](const TuningTrial& trial) {
    print_first([&] { return tune_line(trial); });
  };
  return tune(world, options, list, seconds, progress);
}

}  // namespace

int run_tune(const Communicator& world, const Arguments& arguments, const ProfilePlace& users,
             const std::string& command_line, const std::vector<std::string>& notes) {
  // Tunings of a list are timed only once each, so they are not written to a profile.
  const ProfilePlace place = arguments.tried.empty() ? users : ProfilePlace{"", "--try-nb"};
  require_equal_options(world, arguments.common);
  on_rank_0(world, [&] {
    check_files(arguments, place);
    prepare_profile(place);
    if (!place.path.empty()) outlive_streams();
  });
  on_rank_0(world, [&] { print(tune_banner(arguments.budget, notes)); });
  forget_rates();  // they are measured anew, and replace those of the profile
  const double seconds = arguments.budget / static_cast<double>(arguments.tuned.size());
  std::vector<TunedBenchmark> all;
  for (const Benchmark benchmark : arguments.tuned) {
    BenchmarkOptions options = arguments.options;
    options.benchmark = benchmark;
    all.push_back(tune_one(world, options, arguments.tried, seconds));
    on_rank_0(world, [&] {
      if (!place.path.empty())
        try_file(place.path, [&] { add_to_profile(place.path, all.back().entry); });
      print(tune_result(all.back()));
    });
  }
  keep_rates(world, place);
  on_rank_0(world, [&] {
    if (!arguments.json.empty())
      try_json(arguments.json, [&] {
        return json_of_tuning(all, arguments.budget, place.path, command_line, notes);
      });
    print(tune_end(place.path));
  });
  return 0;
}

}  // namespace speedwell
