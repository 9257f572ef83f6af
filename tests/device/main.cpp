// SPDX-License-Identifier: BSD-3-Clause
// speedwell_device_tests [--device cpu|cuda] [Catch2's arguments]: tests every operation of every
// device of this machine, or of the device that is named.
#include <iostream>
#include <vector>

#include "catch.hpp"
#include "device_choice.hpp"

using namespace speedwell;
using namespace speedwell::test;

namespace {

std::vector<DeviceKind> devices(std::optional<DeviceKind> wanted) {
  if (wanted && *wanted != DeviceKind::automatic) {
    require_present(*wanted);
    return {*wanted};
  }
  if (count_gpus() > 0) return {DeviceKind::cpu, DeviceKind::cuda};
  std::cout << "device cuda: SKIPPED (" << why_no_gpus() << ")\n";
  return {DeviceKind::cpu};
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::function<void()>> rounds;
  try {
    for (const DeviceKind kind : devices(take_option<DeviceKind>(argc, argv, "--device")))
      rounds.emplace_back([kind] {
        device_choice().device = kind;
        std::cout << "device " << name(kind) << ": " << make_chosen_device()->description()
                  << std::endl;
      });
  } catch (const UsageError& error) {
    std::cerr << error.what() << '\n';
    return 2;
  }
  return run_tests(argc, argv, false, rounds);
}
