// SPDX-License-Identifier: BSD-3-Clause
#include "host/process_seed.hpp"

#include <fmt/format.h>
#include <speedwell/error.hpp>

#include <charconv>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <random>
#include <string_view>

#include "core/forks.hpp"
#include "core/random.hpp"

namespace speedwell {

namespace {

constexpr const char* variable = "SPEEDWELL_PROBE_SEED";

std::uint64_t drawn() {
  try {
    std::random_device device;
    const std::uint64_t high = device();
    return high << 32 | device();
  } catch (const std::exception&) {  // no source of random numbers
    return static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count());
  }
}

std::uint64_t given_or_drawn() {
  const char* const given = std::getenv(variable);
  if (given == nullptr) {
    const std::uint64_t bits = mixed_bits(drawn()) >> 11;
    return bits != 0 ? bits : 1;
  }
  const std::string_view text = given;
  std::uint64_t seed = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seed);
  if (error != std::errc{} || end != text.data() + text.size() || seed == 0)
    throw UsageError(fmt::format("{} is '{}'; allowed: a whole number from 1 to {}", variable, text,
                                 UINT64_MAX));
  return seed;
}

}  // namespace

std::uint64_t process_seed() {
  static constinit MadeOnce<std::uint64_t> seed(given_or_drawn);
  return seed.get();
}

}  // namespace speedwell
