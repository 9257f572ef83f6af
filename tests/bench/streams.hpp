/// @file
/// The loops behind the floors that depend on the instruction set.
#pragma once

#include <cstdint>

namespace lupine {

struct Streams {
  std::int64_t elements_a_step;
  /// Sum of elements_a_step * steps numbers of the random stream: nothing leaves the registers.
  double (*sum_of_stream)(std::uint64_t seed, std::int64_t steps);
  std::uint64_t (*sum_of_words)(const std::uint64_t* data, std::int64_t count);
};

}  // namespace lupine
