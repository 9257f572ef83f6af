// SPDX-License-Identifier: BSD-3-Clause
#include "floors.hpp"

#include <omp.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <span>

#include "bench/host_ceilings.hpp"
#include "cpu/peak.hpp"
#include "harness.hpp"

namespace speedwell {

namespace {

double elements_per_second(bool smoke) {
  const Peaks& fast = peaks();
  const std::int64_t steps = smoke ? 1000 : 2'000'000;
  volatile double sink = 0;
  const double seconds = best_seconds(smoke, [&] {
    double total = 0;
#pragma omp parallel reduction(+ : total)
    total += fast.sum_of_stream(static_cast<std::uint64_t>(omp_get_thread_num()), steps);
    sink = total;
  });
  return static_cast<double>(steps * fast.elements_a_step) * omp_get_max_threads() / seconds;
}

}  // namespace

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
  floors.elements = elements_per_second(smoke);
  floors.write = rate([](Part part) { std::memset(part.data(), 0, part.size_bytes()); });
  floors.read = rate([](Part part) {
    volatile std::uint64_t sink =
        peaks().sum_of_words(part.data(), static_cast<std::int64_t>(part.size()));
    static_cast<void>(sink);
  });
  floors.copy = rate([](Part part) {
    const Part from = part.first(part.size() / 2);
    std::memcpy(part.data() + from.size(), from.data(), from.size_bytes());
  });
  return floors;
}

}  // namespace speedwell
