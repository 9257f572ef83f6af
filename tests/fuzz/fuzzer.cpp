// SPDX-License-Identifier: BSD-3-Clause
/// libFuzzer's entry to one target.
#include <cstddef>
#include <cstdint>

#include "fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  speedwell::fuzz::SPEEDWELL_FUZZ_TARGET({reinterpret_cast<const char*>(data), size});
  return 0;
}
