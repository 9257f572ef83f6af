// SPDX-License-Identifier: BSD-3-Clause
#include "device/device_traits.hpp"

#include <speedwell/error.hpp>

#include <algorithm>
#include <string>

#include "catch.hpp"
#include "factor/lu.hpp"
#include "setup/defaults.hpp"
#include "setup/footprint.hpp"

namespace speedwell::test::device_traits_tests {
namespace {

constexpr DeviceKind kinds[] = {DeviceKind::cpu, DeviceKind::cuda};

LuPlan plan_on(DeviceKind kind, Precision precision) {
  return {.n = 1000, .nb = 100, .width = 100, .device = kind, .precision = precision};
}

}  // namespace

TEST_CASE("the numbers of every device are in range, and a device not chosen has none") {
  for (const DeviceKind kind : kinds) {
    const DeviceTraits& traits = traits_of(kind);
    CAPTURE(name(kind));
    CHECK((traits.memory_fraction > 0 && traits.memory_fraction < 1));
    CHECK(traits.fixed_bytes > 0);
    CHECK(traits.host_bytes > 0);
    CHECK(traits.emulated_columns >= 0);
  }
  CHECK_THROWS_AS(traits_of(DeviceKind::automatic), Fault);
}

TEST_CASE("every device has a row in the table of defaults for each kind of update") {
  for (const DeviceKind kind : kinds)
    for (const Precision p :
         {Precision::fp16, Precision::bf16, Precision::fp16x3, Precision::fp32, Precision::fp64})
      for (const bool native : {false, true}) {
        const Defaults d = defaults_for({.n = 1000000, .device = kind, .precision = p}, native, 1);
        CAPTURE(name(kind), name(p), native);
        CHECK(d.tuning.nb > 1);
        CHECK(d.row.find(name(kind)) == 0);
        CHECK((d.row.find("fp64") != std::string::npos) == (p == Precision::fp64));
      }
}

TEST_CASE("a footprint includes the fixed bytes of its device") {
  // The workspaces of FP64 are the same on both devices, so only the fixed bytes differ.
  const double cpu = rank_bytes(plan_on(DeviceKind::cpu, Precision::fp64));
  const double cuda = rank_bytes(plan_on(DeviceKind::cuda, Precision::fp64));
  CHECK(cpu - traits_of(DeviceKind::cpu).fixed_bytes ==
        Approx(cuda - traits_of(DeviceKind::cuda).fixed_bytes));
  CHECK(cuda > cpu);
}

TEST_CASE(
    "workspaces of a 16-bit update: FP32 copies for emulation on CPUs, parts of solves on GPUs") {
  const auto extra = [](DeviceKind kind, bool native, Precision precision = Precision::fp16) {
    LuPlan lu = plan_on(kind, precision);
    lu.native = native;
    return panel_bytes(lu) - static_cast<double>(factor_memory(lu).device);
  };
  CHECK(extra(DeviceKind::cpu, true) == 0);
  // Native BF16: L in packed tiles, in 16 bits; rows in units of 64, columns of 32.
  CHECK(extra(DeviceKind::cpu, true, Precision::bf16) == Approx(1024 * 128 * 2));
  // L, and as many columns of U as are emulated at once, both in FP32.
  const auto columns = static_cast<double>(traits_of(DeviceKind::cpu).emulated_columns);
  CHECK(extra(DeviceKind::cpu, false) == Approx((1000 + std::min(1000., columns)) * 100 * 4));
  // A copy of the panel's 100 columns, and three of a strip of solve_strip, in 16 bits.
  const auto strip = static_cast<double>(DeviceTraits::solve_strip);
  for (const bool native : {false, true})
    CHECK(extra(DeviceKind::cuda, native) == Approx(1000 * (100 + 3 * strip) * 2));
}
}  // namespace speedwell::test::device_traits_tests
