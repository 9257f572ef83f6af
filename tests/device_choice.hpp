// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The device and the communication method that a test program uses, from its command line.
#pragma once

#include <speedwell/error.hpp>
#include <speedwell/options.hpp>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "device/device.hpp"
#include "grid/grid_shape.hpp"

namespace speedwell::test {

struct DeviceChoice {
  DeviceKind device = DeviceKind::cpu;
  CommMethod comm = CommMethod::automatic;
  int gpu = 0;
};

/// The choice of this program. The main function sets it before any test.
inline DeviceChoice& device_choice() {
  static DeviceChoice choice;
  return choice;
}

inline std::unique_ptr<Device> make_chosen_device(int threads = 1) {
  const DeviceChoice& choice = device_choice();
  return make_device({.kind = choice.device, .threads = threads, .gpu = choice.gpu});
}

/// Removes `--name value` or `--name=value` from the arguments and returns the value.
/// @throws UsageError where the value is missing or not allowed
template <class Enum>
std::optional<Enum> take_option(int& argc, char** argv, const std::string& name) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view word(argv[i]);
    const bool joined = word.starts_with(name + "=");
    if (word != name && !joined) continue;
    if (!joined && i + 1 == argc) throw UsageError(name + " needs a value");
    const std::string value(joined ? word.substr(name.size() + 1) : argv[i + 1]);
    const std::optional<Enum> result = parse<Enum>(value);
    if (!result)
      throw UsageError(std::string(name)
                           .append(" ")
                           .append(value)
                           .append(" is not allowed; allowed: ")
                           .append(allowed_names<Enum>()));
    const int words = joined ? 1 : 2;
    std::rotate(argv + i, argv + i + words, argv + argc);
    argc -= words;
    return result;
  }
  return std::nullopt;
}

/// All P x Q grids of so many ranks; those that have rows and columns in both orders, unless on a
/// GPU, which the order does not concern.
inline std::vector<GridShape> grids(int ranks) {
  std::vector<GridShape> all;
  for (int p = 1; p <= ranks; ++p) {
    if (ranks % p != 0) continue;
    all.push_back({p, ranks / p, GridOrder::row});
    if (p > 1 && p < ranks && device_choice().device == DeviceKind::cpu)
      all.push_back({p, ranks / p, GridOrder::column});
  }
  return all;
}

inline GridShape squarest_grid(int ranks) {
  const std::vector<GridShape> all = grids(ranks);
  return all[all.size() / 2];
}

/// The grids of tests that factor hundreds of systems: on emulated GPUs, which are slow, the
/// squarest alone. What GPUs tell each other on the others is in the tests of [factor] and of the
/// look-ahead.
inline std::vector<GridShape> few_grids(int ranks) {
  return device_choice().device == DeviceKind::cpu ? grids(ranks)
                                                   : std::vector{squarest_grid(ranks)};
}

/// Options of a solve on such a grid.
inline SolveOptions options(GridShape shape, std::int64_t nb,
                            Precision precision = Precision::automatic) {
  SolveOptions o;
  o.precision = precision;
  o.run.nprow = shape.nprow;
  o.run.npcol = shape.npcol;
  o.run.order = shape.order;
  o.run.nb = nb;
  o.run.threads = 1;
  o.run.device = device_choice().device;
  o.run.comm = device_choice().comm;
  return o;
}

/// @throws UsageError if the device is a GPU and there is none
inline void require_present(DeviceKind device) {
  if (device == DeviceKind::cuda && count_gpus() == 0)
    throw UsageError("--device cuda is not allowed: " + why_no_gpus() + "; allowed: cpu");
}

}  // namespace speedwell::test
