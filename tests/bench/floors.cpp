// SPDX-License-Identifier: BSD-3-Clause
#include "floors.hpp"

#include <omp.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <span>

#include "bench/memory_passes.hpp"
#include "cpu/loops.hpp"
#include "harness.hpp"

namespace speedwell {

Floors measure_floors(MatrixView<float> memory, bool smoke) {
  using Part = std::span<std::uint64_t>;
  const Part words(reinterpret_cast<std::uint64_t*>(memory.data),
                   static_cast<std::size_t>(memory.ld * memory.columns / 2));
  // Bytes a second of a pass over all of the memory.
  const auto rate = [&](const std::function<void(Part)>& pass) {
    return static_cast<double>(words.size_bytes()) /
           best_seconds(smoke, [&] { on_parts(words, omp_get_max_threads(), pass); });
  };
  Floors floors;
  floors.write = rate([](Part part) { std::memset(part.data(), 0, part.size_bytes()); });
  floors.read = rate([](Part part) {
    volatile std::uint64_t sink =
        loops().sum_of_words(part.data(), static_cast<std::int64_t>(part.size()));
    static_cast<void>(sink);
  });
  floors.copy = rate([](Part part) {
    const Part from = part.first(part.size() / 2);
    std::memcpy(part.data() + from.size(), from.data(), from.size_bytes());
  });
  return floors;
}

}  // namespace speedwell
