// SPDX-License-Identifier: BSD-3-Clause
#include "app/predictions.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "app/files.hpp"
#include "app/output.hpp"
#include "calibrate/calibrate.hpp"
#include "comm/agreement.hpp"
#include "io/json.hpp"
#include "model/machine_model.hpp"
#include "setup/machine.hpp"

namespace speedwell {

namespace {

std::string summary(const Calibration& done, const std::string& path) {
  std::string text = fmt::format("{} now has the numbers of {}.\n", path, done.machine.description);
  text += fmt::format("{:<16} {:<9} {:>7} {:>14} {:>14}\n", "Operation", "precision", "shapes",
                      "mean error", "largest error");
  for (const CalibratedOperation& one : done.operations)
    text +=
        fmt::format("{:<16} {:<9} {:>7} {:>12.1f} % {:>12.1f} %\n", name(one.kind),
                    name(one.precision), one.shapes, 100 * one.mean_error, 100 * one.largest_error);
  return text;
}

}  // namespace

std::string_view why_no_predictions() {
  return {};
}

int run_calibration(const Communicator& world, const Arguments& arguments) {
  const std::string& path = arguments.predict.calibrate;
  std::string earlier;
  on_rank_0(world, [&] {
    check_files(arguments, {});
    if (std::filesystem::exists(path)) earlier = machine_text(load_machine(path, {}));
  });
  earlier = text_of_rank_0(world, std::move(earlier));
  const Machine machine(world.handle(), arguments.options.run);
  const Calibration done = calibrate(
      machine, earlier.empty() ? std::nullopt : std::optional(parse_machine(earlier, path)),
      arguments.predict.seconds);
  on_rank_0(world, [&] {
    try_file(path,
             [&] { write_json(path, nlohmann::ordered_json::parse(machine_text(done.machine))); });
    print(summary(done, path));
  });
  return 0;
}

}  // namespace speedwell
