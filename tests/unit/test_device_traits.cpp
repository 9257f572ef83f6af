// SPDX-License-Identifier: BSD-3-Clause
#include "device/device_traits.hpp"

#include <lupine/error.hpp>

#include <algorithm>
#include <string>

#include "catch.hpp"
#include "matrix/footprint.hpp"
#include "setup/defaults.hpp"

namespace lupine::test::device_traits_tests {
namespace {

constexpr DeviceKind kinds[] = {DeviceKind::cpu, DeviceKind::cuda};

Footprint footprint_on(DeviceKind kind, Precision precision) {
  Footprint f;
  f.n = 1000;
  f.nb = 100;
  f.precision = precision;
  f.device = kind;
  return f;
}

}  // namespace

TEST_CASE("the numbers of every device are in range, and a device not chosen has none") {
  for (const DeviceKind kind : kinds) {
    const DeviceTraits& traits = traits_of(kind);
    CAPTURE(name(kind));
    CHECK((traits.memory_fraction > 0 && traits.memory_fraction < 1));
    CHECK(traits.fixed_bytes > 0);
    CHECK(traits.host_bytes > 0);
    CHECK((traits.emulated_columns >= 0 && traits.solve_columns >= 0));
  }
  CHECK_THROWS_AS(traits_of(DeviceKind::automatic), Fault);
}

TEST_CASE("every device has a row in the table of defaults for each kind of update") {
  for (const DeviceKind kind : kinds)
    for (const Precision p :
         {Precision::fp16, Precision::bf16, Precision::fp16x3, Precision::fp32, Precision::fp64})
      for (const bool native : {false, true}) {
        const Defaults d = defaults_for({1000000, p, kind, native, {1, 1, GridOrder::row}});
        CAPTURE(name(kind), name(p), native);
        CHECK(d.tuning.nb > 1);
        CHECK(d.row.find(name(kind)) == 0);
        CHECK((d.row.find("fp64") != std::string::npos) == (p == Precision::fp64));
      }
}

TEST_CASE("a footprint includes the fixed bytes of its device") {
  // The workspaces of FP64 are the same on both devices, so only the fixed bytes differ.
  const double cpu = footprint_on(DeviceKind::cpu, Precision::fp64).rank_bytes();
  const double cuda = footprint_on(DeviceKind::cuda, Precision::fp64).rank_bytes();
  CHECK(cpu - traits_of(DeviceKind::cpu).fixed_bytes ==
        Approx(cuda - traits_of(DeviceKind::cuda).fixed_bytes));
  CHECK(cuda > cpu);
}

TEST_CASE(
    "workspaces of a 16-bit update: FP32 copies for emulation on CPUs, parts of solves on GPUs") {
  const auto extra = [](DeviceKind kind, bool native) {
    Footprint f = footprint_on(kind, Precision::fp16);
    f.native = native;
    return f.panel_bytes(f.nb) - f.ring_bytes(f.nb);
  };
  CHECK(extra(DeviceKind::cpu, true) == 0);
  // L, and as many columns of U as are emulated at once, both in FP32.
  const auto columns = static_cast<double>(traits_of(DeviceKind::cpu).emulated_columns);
  CHECK(extra(DeviceKind::cpu, false) == Approx((1000 + std::min(1000., columns)) * 100 * 4));
  // A copy of the panel's 100 columns, and three of a strip of solve_columns, in 16 bits.
  const auto strip = static_cast<double>(traits_of(DeviceKind::cuda).solve_columns);
  for (const bool native : {false, true})
    CHECK(extra(DeviceKind::cuda, native) == Approx(1000 * (100 + 3 * strip) * 2));
}
}  // namespace lupine::test::device_traits_tests
